//! What the builders have in common: setters of one line each, and the settings of every run.

/// Methods that set one field each: `name(argument: Type) => field = value;`.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $type:ty) => $($field:ident).+ = $value:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $argument: $type) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}

/// Seed, threads, cancellation, progress and all options at once, each where the job keeps it.
macro_rules! run_settings {
    () => {};
    (seed in $($at:ident).+, $of:literal; $($rest:tt)*) => {
        #[doc = concat!("Seed of ", $of, " (default 0).")]
        pub fn seed(mut self, seed: u64) -> Self {
            self.$($at).+.seed = seed;
            self
        }
        $crate::builders::settings::run_settings! { $($rest)* }
    };
    (threads, cancel in $($at:ident).+; $($rest:tt)*) => {
        /// On so many threads (default: those of the pool it is called from); the result does not depend on it.
        pub fn threads(mut self, threads: usize) -> Self {
            self.threads = Some(threads);
            self
        }

        /// Ends it with [`Error::Cancelled`](crate::Error::Cancelled), within one pass over the points, once the token is
        /// cancelled.
        pub fn cancel(mut self, token: &$crate::run::CancelToken) -> Self {
            self.$($at).+.cancel = token.clone();
            self
        }
        $crate::builders::settings::run_settings! { $($rest)* }
    };
    (progress in $($at:ident).+; $($rest:tt)*) => {
        /// Told about every step; where it breaks off, it ends with [`Error::Cancelled`](crate::Error::Cancelled).
        pub fn progress(
            mut self,
            hook: impl Fn(&$crate::run::Progress) -> std::ops::ControlFlow<()> + Send + Sync + 'static,
        ) -> Self {
            self.$($at).+.progress = Some($crate::run::ProgressHook::new(hook));
            self
        }
        $crate::builders::settings::run_settings! { $($rest)* }
    };
    (options: $type:ty; $($rest:tt)*) => {
        /// All options at once.
        pub fn options(mut self, options: $type) -> Self {
            self.options = options;
            self
        }
        $crate::builders::settings::run_settings! { $($rest)* }
    };
}

pub(super) use {run_settings, setters};
