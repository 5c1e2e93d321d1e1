//! The code that the derive writes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, LitStr};

use crate::field::{Field, Kind, Schema};
use crate::input::{Input, krate};
use crate::shape::Count;

/// The implementation of `Inputs`, or the errors.
pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    match Input::new(input) {
        Ok(input) => implementation(&input),
        Err(error) => {
            let errors = error.into_compile_error();
            let stand_in = stand_in(input);
            quote!(#errors #stand_in)
        }
    }
}

fn implementation(input: &Input) -> TokenStream {
    let Input {
        ident,
        krate,
        fields,
    } = input;
    let contracts = fields.iter().map(contract);
    let values = fields.iter().map(value);
    quote! {
        const _: () = {
            use #krate::contracts as __contracts;

            #[automatically_derived]
            impl __contracts::Inputs for #ident {
                fn contracts() -> __contracts::InputContracts {
                    __contracts::InputContracts::new() #(.with(#contracts))*
                }

                fn from_selected(
                    selected: &__contracts::SelectedInputs,
                ) -> ::core::result::Result<Self, __contracts::InputError> {
                    ::core::result::Result::Ok(Self { #(#values,)* })
                }
            }
        };
    }
}

/// An implementation beside the errors, so that where the struct is used the compiler does not say
/// that the derive is missing.
fn stand_in(input: &DeriveInput) -> Option<TokenStream> {
    if !input.generics.params.is_empty() {
        return None;
    }
    let ident = &input.ident;
    let krate = krate(input).ok()?;
    Some(quote! {
        const _: () = {
            use #krate::contracts as __contracts;

            #[automatically_derived]
            impl __contracts::Inputs for #ident {
                fn contracts() -> __contracts::InputContracts {
                    __contracts::InputContracts::new()
                }

                fn from_selected(
                    _: &__contracts::SelectedInputs,
                ) -> ::core::result::Result<Self, __contracts::InputError> {
                    ::core::unreachable!()
                }
            }
        };
    })
}

/// The contract of a field.
fn contract(field: &Field) -> TokenStream {
    let kind = Ident::new(
        match field.kind {
            Kind::Data => "data",
            Kind::File => "file",
            Kind::Text => "text",
        },
        Span::call_site(),
    );
    let name = &field.name;
    let description = field.description.as_ref();
    let description = description.map(|text| quote!(.description(#text)));
    let select = call("select", field.select.as_ref());
    let media_type = call("media_type", field.media_type.as_ref());
    let filename = call("filename", field.filename.as_ref());
    let source = call("source", field.source.as_ref());
    let default = call("default_json", field.default.as_ref());
    let optional = field.is_optional.then(|| quote!(.optional()));
    let pick = variant("pick", "Pick", field.pick);
    let on_missing = variant("on_missing", "OnMissing", field.on_missing);
    let declared = quote! {
        __contracts::InputContract::#kind(#name)
            #description #select #media_type #filename #source #pick #optional #default #on_missing
    };
    let item_type = &field.item_type;
    let is_data = field.kind == Kind::Data;
    let typed = is_data.then(|| quote!(.typed::<#item_type>()));
    match &field.schema {
        Schema::Type => quote!(__contracts::__private::typed::<#item_type>(#declared)),
        Schema::Function(function) => {
            // A function of another type is an error where it is named.
            let schema = quote_spanned!(function.span()=> #function());
            quote!(#declared.schema(#schema) #typed)
        }
        Schema::None => quote!(#declared #typed),
    }
}

fn call(method: &str, text: Option<&LitStr>) -> Option<TokenStream> {
    let method = Ident::new(method, Span::call_site());
    text.map(|text| quote!(.#method(#text)))
}

fn variant(method: &str, of: &str, name: Option<&str>) -> Option<TokenStream> {
    let [method, of] = [method, of].map(|name| Ident::new(name, Span::call_site()));
    let name = Ident::new(name?, Span::call_site());
    Some(quote!(.#method(__contracts::#of::#name)))
}

/// The field and its value.
fn value(field: &Field) -> TokenStream {
    let Field {
        ident,
        name,
        item_type,
        ..
    } = field;
    let value = match (field.kind, field.count) {
        (Kind::File, Count::One) => quote!(required_file(#name)?),
        (Kind::File, Count::Optional) => quote!(file()),
        (Kind::File, Count::Many) => quote!(files()),
        (_, Count::One) => quote!(required::<#item_type>(#name)?),
        (_, Count::Optional) => quote!(optional::<#item_type>(#name)?),
        (_, Count::Many) => quote!(all::<#item_type>(#name)?),
    };
    quote!(#ident: selected.get(#name).#value)
}
