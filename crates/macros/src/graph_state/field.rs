//! Reading a field and its `#[state(...)]`.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::{Error, Expr, ExprPath, Meta, Result, Type};

/// A field of a state.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// Its name in JSON and in messages.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) merge: Merge,
}

/// How writes to a field are merged.
pub(crate) enum Merge {
    /// One write in a super-step.
    Replace,
    /// The last write counts.
    Overwrite,
    Append,
    Messages,
    Reducer(ExprPath),
}

const KEYS: &str = "`append`, `messages`, `overwrite` and `reducer = function`";

impl Field {
    pub(crate) fn new(field: &syn::Field, ident: &Ident) -> Result<Self> {
        let mut merge = None;
        for attribute in &field.attrs {
            if !attribute.path().is_ident("state") {
                continue;
            }
            let of_field = |error: &Error| format!("field `{ident}`: {error}");
            if !matches!(attribute.meta, Meta::List(_)) {
                let message =
                    "the attribute takes its key in parentheses, as in `#[state(append)]`";
                let error = Error::new_spanned(attribute, message);
                return Err(Error::new(error.span(), of_field(&error)));
            }
            attribute
                .parse_nested_meta(|meta| {
                    let read = Merge::new(&meta)?;
                    if merge.replace(read).is_some() {
                        let message = "a field is merged in one way; leave one of the keys out";
                        return Err(Error::new_spanned(&meta.path, message));
                    }
                    Ok(())
                })
                .map_err(|error| Error::new(error.span(), of_field(&error)))?;
        }
        Ok(Self {
            ident: ident.clone(),
            name: ident.unraw().to_string(),
            ty: field.ty.clone(),
            merge: merge.unwrap_or(Merge::Replace),
        })
    }

    /// Whether writes go through a reducer, and can go past it.
    pub(crate) fn has_reducer(&self) -> bool {
        !matches!(self.merge, Merge::Replace | Merge::Overwrite)
    }

    /// Whether one item can be written.
    pub(crate) fn is_a_list(&self) -> bool {
        matches!(self.merge, Merge::Append | Merge::Messages)
    }
}

impl Merge {
    fn new(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let key = meta.path.get_ident().map(Ident::to_string);
        let key = key.as_deref().unwrap_or("...");
        let flag = match key {
            "append" => Self::Append,
            "messages" => Self::Messages,
            "overwrite" => Self::Overwrite,
            "reducer" => return reducer(meta),
            "crate" => {
                let message = "`crate` goes onto the struct: `#[state(crate = \"...\")]`";
                return Err(Error::new_spanned(&meta.path, message));
            }
            key => {
                let message = format!("the key `{key}` is unknown; the keys are {KEYS}");
                return Err(Error::new_spanned(&meta.path, message));
            }
        };
        if meta.input.peek(syn::Token![=]) {
            let message = format!("`{key}` takes no value");
            return Err(Error::new_spanned(&meta.path, message));
        }
        Ok(flag)
    }
}

fn reducer(meta: &ParseNestedMeta<'_>) -> Result<Merge> {
    let wanted = "`reducer` takes the path of a function, `fn(&mut T, T)` or `fn(T, T) -> T`: \
                  `reducer = add`";
    let value = meta
        .value()
        .map_err(|_| Error::new_spanned(&meta.path, wanted))?;
    let span = value.span();
    match value.parse() {
        Ok(Expr::Path(path)) => Ok(Merge::Reducer(path)),
        _ => Err(Error::new(span, wanted)),
    }
}
