//! The struct: what it must be, and its own attribute.

use std::collections::HashMap;

use proc_macro2::Ident;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Result, parse_quote};

use crate::field::Field;

/// A struct whose fields are inputs.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    /// Where the module `contracts` is.
    pub(crate) krate: Path,
    pub(crate) fields: Vec<Field>,
}

impl Input {
    pub(crate) fn new(input: &DeriveInput) -> Result<Self> {
        let fields = named_fields(input)?;
        check_generics(input)?;
        let mut errors = Errors::default();
        let krate = errors.take(krate(input));
        let fields: Vec<Field> = fields
            .named
            .iter()
            .filter_map(|field| errors.take(Field::new(field)))
            .collect();
        errors.take(check_names(&fields));
        errors.into_result()?;
        Ok(Self {
            ident: input.ident.clone(),
            krate: krate.unwrap_or_else(default_krate),
            fields,
        })
    }
}

/// All mistakes are shown at once.
#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        match (result, &mut self.0) {
            (Ok(value), _) => return Some(value),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), none) => *none = Some(error),
        }
        None
    }

    fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

fn named_fields(input: &DeriveInput) -> Result<&syn::FieldsNamed> {
    let ident = &input.ident;
    let error = |is: &str, fix: &str| {
        let message =
            format!("`{ident}` is {is}, and inputs are the named fields of a struct; {fix}");
        Error::new(ident.span(), message)
    };
    let one_each = "make it a struct with a field for each input";
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(_) => return Err(error("an enum", one_each)),
        Data::Union(_) => return Err(error("a union", one_each)),
    };
    match fields {
        Fields::Named(fields) if fields.named.is_empty() => {
            let fix = "add one, or let the agent take only its turn";
            Err(error("a struct without fields", fix))
        }
        Fields::Named(fields) => Ok(fields),
        Fields::Unnamed(_) => Err(error("a tuple struct", "give its fields names")),
        Fields::Unit => {
            let fix = "add `{ ... }` with a field for each input";
            Err(error("a unit struct", fix))
        }
    }
}

fn check_generics(input: &DeriveInput) -> Result<()> {
    let ident = &input.ident;
    let Some(parameter) = input.generics.params.first() else {
        return Ok(());
    };
    let message = match parameter {
        syn::GenericParam::Lifetime(lifetime) => {
            let lifetime = &lifetime.lifetime;
            format!(
                "`{ident}` borrows for `{lifetime}`, but inputs own their values; remove \
                 `{lifetime}` (`String` instead of `&str`)"
            )
        }
        syn::GenericParam::Type(syn::TypeParam { ident: name, .. })
        | syn::GenericParam::Const(syn::ConstParam { ident: name, .. }) => format!(
            "`{ident}` is generic over `{name}`, but an agent's inputs are one type; write what \
             arrives instead of `{name}`"
        ),
    };
    Err(Error::new_spanned(parameter, message))
}

/// Where the module `contracts` is: reads `#[inputs(crate = "...")]`.
pub(crate) fn krate(input: &DeriveInput) -> Result<Path> {
    let ident = &input.ident;
    let mut krate = None;
    for attribute in &input.attrs {
        if attribute.path().is_ident("input") {
            let message = format!(
                "`{ident}`: `#[input(...)]` goes onto a field; onto the struct goes \
                 `#[inputs(crate = \"...\")]`"
            );
            return Err(Error::new_spanned(attribute, message));
        }
        if attribute.path().is_ident("inputs") {
            krate = Some(
                krate_of(attribute)
                    .map_err(|error| Error::new(error.span(), format!("`{ident}`: {error}")))?,
            );
        }
    }
    Ok(krate.unwrap_or_else(default_krate))
}

fn krate_of(attribute: &Attribute) -> Result<Path> {
    let form = "the struct's attribute is `#[inputs(crate = \"...\")]`, with the path of \
                llamon-agent or llamon-core; a field's is `#[input(...)]`";
    let mut krate = None;
    attribute
        .parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(Error::new_spanned(&meta.path, form));
            }
            let path: LitStr = meta.value()?.parse()?;
            krate = Some(path.parse::<Path>()?);
            Ok(())
        })
        .map_err(|error| Error::new(error.span(), form))?;
    krate.ok_or_else(|| Error::new_spanned(attribute, form))
}

fn default_krate() -> Path {
    parse_quote!(::llamon_agent)
}

fn check_names(fields: &[Field]) -> Result<()> {
    let mut errors = Errors::default();
    let mut seen: HashMap<&str, &Field> = HashMap::new();
    for field in fields {
        if let Some(other) = seen.get(field.name.as_str()) {
            let name = &field.name;
            let message = format!(
                "field `{}`: the input's name {name:?} is that of the field `{}`, too; give one of them \
                 another one: `#[input(name = \"...\")]`",
                field.ident, other.ident
            );
            errors.take::<()>(Err(Error::new(field.name_span, message)));
        } else {
            seen.insert(&field.name, field);
        }
    }
    errors.into_result()
}
