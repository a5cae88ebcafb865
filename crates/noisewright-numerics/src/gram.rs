//! Weighted Gram matrices.
