//! Record data between text and wire form, led by the grammar table.
//!
//! `words` hands out the tokens of a record, `text` reads them, `wire` checks octets, `print` writes them; the kinds of
//! field that are small languages of their own have a file each.

mod apl;
mod bitmap;
mod codes;
mod gateway;
mod legacy;
mod loc;
mod mnemonics;
mod print;
mod svcb;
mod text;
mod wire;
mod words;

use std::borrow::Cow;

pub use print::write;
pub use text::read;
pub use wire::{names, validate};

pub(crate) use print::{relative, time};
pub(crate) use text::parse;
pub(crate) use words::{Words, decode, seconds};

/// What is wrong with a record's data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct RdataError {
    /// A stable word for the kind of fault.
    pub id: &'static str,
    /// The field, as the grammar table names it; `data` where it is about all of it.
    pub field: &'static str,
    /// What is wrong.
    pub why: Cow<'static, str>,
    /// What to write instead; may be empty.
    pub advice: Cow<'static, str>,
}

impl RdataError {
    fn new(id: &'static str, why: impl Into<Cow<'static, str>>) -> RdataError {
        RdataError { id, field: "data", why: why.into(), advice: Cow::Borrowed("") }
    }

    fn advise(self, advice: impl Into<Cow<'static, str>>) -> RdataError {
        RdataError { advice: advice.into(), ..self }
    }

    fn of(self, field: &'static str) -> RdataError {
        RdataError { field, ..self }
    }
}
