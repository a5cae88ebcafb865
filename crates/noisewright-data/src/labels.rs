//! Labels of any kind as numbers: 0 for the first that occurs, 1 for the next one that is new, and so on.

use std::collections::HashMap;

/// The labels met so far.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    known: HashMap<Vec<u8>, f64>,
}

impl Labels {
    /// The number of a label, spaces around it ignored.
    pub(crate) fn number(&mut self, text: &[u8]) -> f64 {
        let text = text.trim_ascii();
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.known.len() as f64;
        self.known.insert(text.to_vec(), number);
        number
    }
}
