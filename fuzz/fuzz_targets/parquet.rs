//! Any bytes read as Parquet are columns of finite numbers, all of one length, or refused in one sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use noisewright_data::Format;

mod reading;

fuzz_target!(|bytes: &[u8]| reading::check(bytes, Format::Parquet));
