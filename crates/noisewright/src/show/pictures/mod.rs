//! Pictures of results that the command's pages and the lab share.

mod bins;
mod classifier;
mod fit;
mod scene;

pub use bins::Bins;
pub use classifier::{Class, figure as classifier_figure};
pub use fit::{budget as budget_picture, pictures as fit_pictures};
pub use scene::{Scene, fitted_log_z};

use noisewright_report::{Figure, Section};

/// A picture under a heading, with what it shows in words.
pub struct Picture {
    /// The heading.
    pub heading: &'static str,
    /// The picture; `None` where it cannot be drawn, which the words then say.
    pub figure: Option<Figure>,
    /// What is seen there.
    pub caption: String,
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Picture")
            .field("heading", &self.heading)
            .field("caption", &self.caption)
            .finish_non_exhaustive()
    }
}

impl Picture {
    fn new(heading: &'static str, figure: Figure, caption: impl Into<String>) -> Self {
        Self { heading, figure: Some(figure), caption: caption.into() }
    }

    fn words(heading: &'static str, caption: &str) -> Self {
        Self { heading, figure: None, caption: caption.to_owned() }
    }

    /// As a section of a page.
    #[must_use]
    pub fn section(self) -> Section {
        let section = Section::new(self.heading);
        match self.figure {
            Some(figure) => section.figure(figure, self.caption),
            None => section.paragraph(self.caption),
        }
    }
}
