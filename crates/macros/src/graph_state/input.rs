//! The struct: what it must be, and its own attribute.

use proc_macro2::Ident;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Path, Result, Visibility};

use super::field::Field;

/// A struct that is the state of a graph.
pub(crate) struct State {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// Where the graph's types are.
    pub(crate) krate: Path,
    pub(crate) fields: Vec<Field>,
}

impl State {
    pub(crate) fn new(input: &DeriveInput, default_krate: &Path) -> Result<Self> {
        let named = named_fields(input)?;
        let ident = &input.ident;
        if let Some(parameter) = input.generics.params.first() {
            let message = format!(
                "`{ident}` is generic, and the state of a graph is one type that owns its values; \
                 write the types that are meant"
            );
            return Err(Error::new_spanned(parameter, message));
        }
        let mut errors: Option<Error> = None;
        let mut fail = |error: Error| match &mut errors {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        };
        let krate = krate(input).unwrap_or_else(|error| {
            fail(error);
            None
        });
        let mut fields = Vec::new();
        for (field, ident) in named {
            match Field::new(field, ident) {
                Ok(field) => fields.push(field),
                Err(error) => fail(error),
            }
        }
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Self {
                ident: ident.clone(),
                vis: input.vis.clone(),
                krate: krate.unwrap_or_else(|| default_krate.clone()),
                fields,
            }),
        }
    }
}

fn named_fields(input: &DeriveInput) -> Result<Vec<(&syn::Field, &Ident)>> {
    let ident = &input.ident;
    let what = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => {
                let named = fields.named.iter();
                return Ok(named
                    .filter_map(|field| Some((field, field.ident.as_ref()?)))
                    .collect());
            }
            Fields::Named(_) | Fields::Unit => "a struct without fields",
            Fields::Unnamed(_) => "a tuple struct",
        },
        Data::Enum(_) => "an enum",
        Data::Union(_) => "a union",
    };
    let message = format!(
        "`{ident}` is {what}, and the state of a graph is a struct with named fields, one for each \
         value that nodes write"
    );
    Err(Error::new(ident.span(), message))
}

/// Reads `#[state(crate = "...")]`.
pub(crate) fn krate(input: &DeriveInput) -> Result<Option<Path>> {
    let mut krate = None;
    for attribute in &input.attrs {
        if !attribute.path().is_ident("state") {
            continue;
        }
        let form = format!(
            "`{}`: the struct's attribute is `#[state(crate = \"...\")]`, with the path of \
             llamon-graph; how a field is merged goes onto the field",
            input.ident
        );
        attribute
            .parse_nested_meta(|meta| {
                if !meta.path.is_ident("crate") {
                    return Err(Error::new_spanned(&meta.path, ""));
                }
                let path: LitStr = meta.value()?.parse()?;
                krate = Some(path.parse::<Path>()?);
                Ok(())
            })
            .map_err(|error| Error::new(error.span(), &form))?;
    }
    Ok(krate)
}
