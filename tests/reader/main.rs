//! Reading zone files: properties of any text, and what BIND takes and refuses.

mod bind;
mod files;
mod props;
mod rows;
