//! Reading `#[input(...)]` and doc comments, before anybody asks whether they go together.

use std::fmt::Display;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Path, Result, Token};

/// What the attributes of one field say.
pub(crate) struct Attributes {
    /// The field's.
    ident: Ident,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) kind: Option<LitStr>,
    pub(crate) select: Option<LitStr>,
    pub(crate) schema: Option<SchemaAttribute>,
    pub(crate) media_type: Option<LitStr>,
    pub(crate) filename: Option<LitStr>,
    pub(crate) source: Option<LitStr>,
    pub(crate) pick: Option<LitStr>,
    pub(crate) default: Option<LitStr>,
    pub(crate) on_missing: Option<LitStr>,
    /// The key.
    pub(crate) optional: Option<Path>,
}

/// What `schema` says.
pub(crate) enum SchemaAttribute {
    /// `"none"`.
    None(LitStr),
    /// The function that returns it.
    Function(Path),
}

const KEYS: &str = "name, description, kind, select, schema, media_type, filename, source, pick, \
                    default, on_missing and optional";

impl Attributes {
    /// # Errors
    /// For what `#[input(...)]` cannot say.
    pub(crate) fn new(ident: &Ident, attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self {
            ident: ident.clone(),
            name: None,
            description: None,
            kind: None,
            select: None,
            schema: None,
            media_type: None,
            filename: None,
            source: None,
            pick: None,
            default: None,
            on_missing: None,
            optional: None,
        };
        for attribute in attributes {
            if attribute.path().is_ident("inputs") {
                let message = "`#[inputs(...)]` goes onto the struct; onto a field goes \
                               `#[input(...)]`";
                return Err(this.error(attribute, message));
            }
            if attribute.path().is_ident("input") {
                if !matches!(attribute.meta, Meta::List(_)) {
                    let message = "the attribute takes its keys in parentheses: `#[input(...)]`";
                    return Err(this.error(attribute, message));
                }
                attribute
                    .parse_nested_meta(|meta| this.key(&meta))
                    .map_err(|error| Error::new(error.span(), this.of_field(&error)))?;
            }
        }
        Ok(this)
    }

    /// A mistake at `tokens`, with the field's name.
    pub(crate) fn error(&self, tokens: impl ToTokens, message: impl Display) -> Error {
        Error::new_spanned(tokens, self.of_field(&message))
    }

    fn of_field(&self, message: &impl Display) -> String {
        format!("field `{}`: {message}", self.ident)
    }

    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let key = meta.path.get_ident().map(Ident::to_string);
        let text = match key.as_deref() {
            Some("name") => &mut self.name,
            Some("description") => &mut self.description,
            Some("kind") => &mut self.kind,
            Some("select") => &mut self.select,
            Some("media_type") => &mut self.media_type,
            Some("filename") => &mut self.filename,
            Some("source") => &mut self.source,
            Some("pick") => &mut self.pick,
            Some("default") => &mut self.default,
            Some("on_missing") => &mut self.on_missing,
            Some("schema") => return set(&mut self.schema, meta, schema),
            Some("optional") => return set(&mut self.optional, meta, flag),
            _ => {
                let key = key.unwrap_or_else(|| "...".to_owned());
                let message = format!("the key `{key}` is unknown; the keys are {KEYS}");
                return Err(Error::new_spanned(&meta.path, message));
            }
        };
        set(text, meta, string)
    }
}

/// The first paragraph of a field's doc comment, on one line and without its full stop.
pub(crate) fn doc_comment(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(doc) = &attribute.meta else {
            return None;
        };
        match &doc.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) if doc.path.is_ident("doc") => Some(text.value()),
            _ => None,
        }
    });
    let text: Vec<String> = lines.collect();
    let paragraph: Vec<&str> = (text.iter().flat_map(|text| text.split('\n')).map(str::trim))
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let sentence = match paragraph.strip_suffix('.') {
        Some(sentence) if !sentence.ends_with('.') => sentence,
        _ => &paragraph,
    };
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

/// Sets what was not set before.
fn set<T>(
    to: &mut Option<T>,
    meta: &ParseNestedMeta<'_>,
    value: fn(&ParseNestedMeta<'_>) -> Result<T>,
) -> Result<()> {
    if to.is_some() {
        let message = format!("`{}` is given twice; leave one of the two out", key(meta));
        return Err(Error::new_spanned(&meta.path, message));
    }
    *to = Some(value(meta)?);
    Ok(())
}

fn string(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let wanted = format!("`{key}` takes a string: `{key} = \"...\"`", key = key(meta));
    let value = meta
        .value()
        .map_err(|_| Error::new(meta.path.span(), &wanted))?;
    let span = value.span();
    value.parse().map_err(|_| Error::new(span, &wanted))
}

fn flag(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    if meta.input.peek(Token![=]) {
        let message = "`optional` takes no value; leave it out where the input is required";
        return Err(Error::new_spanned(&meta.path, message));
    }
    Ok(meta.path.clone())
}

fn schema(meta: &ParseNestedMeta<'_>) -> Result<SchemaAttribute> {
    let wanted = "`schema` takes `\"none\"` or the path of a `fn() -> serde_json::Value` that \
                  returns the schema";
    let value = meta
        .value()
        .map_err(|_| Error::new(meta.path.span(), wanted))?;
    let span = value.span();
    if !value.peek(LitStr) {
        let function = value.parse().map_err(|_| Error::new(span, wanted))?;
        return Ok(SchemaAttribute::Function(function));
    }
    let text: LitStr = value.parse()?;
    if text.value() == "none" {
        return Ok(SchemaAttribute::None(text));
    }
    let function = text.parse().map_err(|_| Error::new(span, wanted))?;
    Ok(SchemaAttribute::Function(function))
}

impl ToTokens for SchemaAttribute {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        match self {
            Self::None(text) => text.to_tokens(tokens),
            Self::Function(function) => function.to_tokens(tokens),
        }
    }
}

fn key(meta: &ParseNestedMeta<'_>) -> String {
    meta.path
        .get_ident()
        .map_or_else(String::new, Ident::to_string)
}
