//! Sends requests: credentials in URLs, redirects, proxies, certificates.
//!
//! - The user and the query of a URL are added here, to the first request of a chain of redirects, and nowhere else.
//! - A redirect is followed without `Authorization`, cookies and `x-amz-*`, and never from https to http.
//! - Proxies: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`. Certificates: the system's, or those of `SSL_CERT_FILE` and
//!   `SSL_CERT_DIR` in their place; those of `AWS_CA_BUNDLE` in addition.
//! - A reply without success is an error with its status ([`RefusedReply`]); the caller retries those that may be temporary.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, HeaderMap, HeaderValue};
use reqwest::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::RemoteLimits;
use trimill_system::{Error, Result, lock};

/// The most bytes of a reply that are searched for a reason.
const LONGEST_REASON: usize = 64 << 10;

#[derive(Clone)]
pub(super) struct RemoteClient {
    client: reqwest::Client,
    redirects: usize,
    /// The URL, if this client serves only one, and where its redirects ended last.
    url: Option<Url>,
    ended: Arc<Mutex<Option<Url>>>,
}

#[derive(Debug)]
pub(super) enum RefusedReply {
    /// With the reason, if the reply has one.
    Status(StatusCode, Option<String>),
    Redirect(String),
}

impl RemoteClient {
    pub(super) fn new(limits: RemoteLimits) -> Result<Self> {
        let unusable = |error: &dyn fmt::Display| Error::resource(format!("no connections can be made ({error})"));
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(certificates()?)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .user_agent(concat!("trimill/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .http1_only()
            .connect_timeout(limits.connect)
            .read_timeout(limits.idle)
            .build()
            .map_err(|error| unusable(&error.without_url()))?;
        Ok(Self { client, redirects: limits.redirects, url: None, ended: Arc::default() })
    }

    /// A copy of this client that sends all requests to `url`.
    pub(super) fn for_url(&self, url: Url) -> Self {
        Self { url: Some(url), ended: Arc::default(), ..self.clone() }
    }

    /// The first address. The request gets the credentials of the URL of [`Self::for_url`].
    fn first(&self, request: &mut HttpRequest) -> Result<Url, HttpError> {
        let mut url = match &self.url {
            Some(url) => url.clone(),
            None => {
                Url::parse(&request.uri().to_string()).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?
            }
        };
        if let Some(authorization) = basic(&self.client, &url) {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        address(request, &mut url)?;
        Ok(url)
    }
}

fn certificates() -> Result<RootCertStore> {
    let mut trusted = RootCertStore::empty();
    // Without any certificate, an https URL gives an error that says so.
    trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(bundle) = std::env::var_os("AWS_CA_BUNDLE").filter(|bundle| !bundle.is_empty()) {
        let bundle = Path::new(&bundle);
        let wrong = |found: String| {
            Error::usage(found).at(bundle).expected("certificates (PEM), which the variable AWS_CA_BUNDLE names")
        };
        let read = CertificateDer::pem_file_iter(bundle).map_err(|error| wrong(format!("cannot be read ({error})")))?;
        if trusted.add_parsable_certificates(read.filter_map(Result::ok)).0 == 0 {
            return Err(wrong("holds no certificate".into()));
        }
    }
    Ok(trusted)
}

fn basic(client: &reqwest::Client, url: &Url) -> Option<HeaderValue> {
    let built = client.get(url.clone()).build().ok()?;
    built.headers().get(AUTHORIZATION).cloned()
}

fn address(request: &mut HttpRequest, url: &mut Url) -> Result<(), HttpError> {
    // These fail only for URLs without a host.
    let _ = (url.set_password(None), url.set_username(""));
    url.set_fragment(None);
    *request.uri_mut() = url.as_str().parse().map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
    Ok(())
}

fn followed(url: &Url, location: &str) -> Result<Url, &'static str> {
    let next = url.join(location).map_err(|_| "a redirect to what is no URL")?;
    match (url.scheme(), next.scheme()) {
        ("https", "https") | ("http", "http" | "https") => Ok(next),
        ("https", "http") => Err("a redirect from https to http, which is not followed"),
        _ => Err("a redirect to what is neither http nor https"),
    }
}

/// Removes credentials, which are for the first server alone.
fn without_credentials(headers: &mut HeaderMap) {
    let amazon: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("x-amz-")).cloned().collect();
    for name in amazon.iter().chain([&AUTHORIZATION, &COOKIE, &PROXY_AUTHORIZATION]) {
        headers.remove(name);
    }
}

#[async_trait]
impl HttpService for RemoteClient {
    /// Sends the request to where redirects ended last time; if that fails, as when that address has expired, to the URL itself.
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let ended = lock(&self.ended).clone();
        if let Some(mut ended) = ended {
            let mut again = request.clone();
            without_credentials(again.headers_mut());
            address(&mut again, &mut ended)?;
            match HttpService::call(&self.client, again).await {
                Ok(reply) if reply.status().is_success() => return Ok(reply),
                _ => *lock(&self.ended) = None,
            }
        }
        self.follow(request).await
    }
}

impl RemoteClient {
    async fn follow(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let first = self.first(&mut request)?;
        let mut url = first.clone();
        for _ in 0..=self.redirects {
            let reply = HttpService::call(&self.client, request.clone()).await?;
            let status = reply.status();
            let location = reply.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                if !status.is_success() {
                    return Err(RefusedReply::of(reply).await.into());
                }
                if self.url.is_some() && url != first {
                    *lock(&self.ended) = Some(url);
                }
                return Ok(reply);
            };
            let mut next = followed(&url, location).map_err(|said| RefusedReply::Redirect(said.into()))?;
            without_credentials(request.headers_mut());
            address(&mut request, &mut next)?;
            url = next;
        }
        Err(RefusedReply::Redirect(format!("more than {} redirects", self.redirects)).into())
    }
}

impl HttpConnector for RemoteClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// Prints no fields, since the URL contains credentials.
impl fmt::Debug for RemoteClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteClient").finish_non_exhaustive()
    }
}

impl RefusedReply {
    /// For S3 also the error's code; the rest of the reply may repeat parts of the request.
    async fn of(reply: HttpResponse) -> Self {
        let status = reply.status();
        let region =
            reply.headers().get("x-amz-bucket-region").and_then(|region| region.to_str().ok()).map(str::to_owned);
        let length =
            reply.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let text = match length {
            Some(..=LONGEST_REASON) => reply.into_body().bytes().await.unwrap_or_default(),
            _ => Default::default(),
        };
        let text = String::from_utf8_lossy(&text);
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
        let code = code.filter(|code| code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let said = match region.filter(|_| status.is_redirection() || status == StatusCode::BAD_REQUEST) {
            Some(region) => Some(format!("the bucket is in the region {region}, which AWS_REGION must name")),
            None => code.map(str::to_owned),
        };
        Self::Status(status, said)
    }

    pub(super) fn is_temporary(&self) -> bool {
        let temporary = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
        self.status().is_some_and(|status| status.is_server_error() || temporary.contains(&status))
    }

    pub(super) fn status(&self) -> Option<StatusCode> {
        if let Self::Status(status, _) = self { Some(*status) } else { None }
    }
}

impl fmt::Display for RefusedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status, Some(said)) => write!(f, "{}: {said}", status.as_u16()),
            Self::Status(status, None) => write!(f, "{status}"),
            Self::Redirect(said) => f.write_str(said),
        }
    }
}

impl std::error::Error for RefusedReply {}

impl From<RefusedReply> for HttpError {
    fn from(refused: RefusedReply) -> Self {
        Self::new(HttpErrorKind::Unknown, refused)
    }
}
