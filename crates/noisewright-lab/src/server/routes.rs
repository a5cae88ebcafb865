//! What is at which address: the page, the questions, data files, and how busy the lab is.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use noisewright::run::CancelToken;
use serde::Deserialize;

use super::guard::Guard;
use super::random_hex;
use crate::{DataFile, Lab, Mistake, html};

/// Bytes of a question, at most.
const LONGEST_QUESTION: usize = 1 << 18;
/// Bytes of a data file, at most.
const LONGEST_DATA: usize = 64 << 20;
/// How long a question may be computed.
const LONGEST_COMPUTATION: Duration = Duration::from_secs(60);

/// All addresses, behind the guard.
pub(super) fn router(lab: Arc<Lab>, guard: Guard) -> Router {
    Router::new()
        .route("/{token}/", get(page))
        .route("/{token}/status", get(status))
        .route("/{token}/ask/{kind}", post(ask).layer(DefaultBodyLimit::max(LONGEST_QUESTION)))
        .route("/{token}/data", post(data).layer(DefaultBodyLimit::max(LONGEST_DATA)))
        .fallback(|| async {
            refused(StatusCode::NOT_FOUND, &Mistake::new("there is nothing at this address"))
        })
        .with_state(lab)
        .layer(middleware::from_fn_with_state(guard, guarded))
}

async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.uri().path(), request.headers()) {
        // What says that it is too long is not waited for.
        Ok(()) if announced(&request) > LONGEST_DATA => too_long(),
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(refusal.status, &Mistake::new(refusal.sentence)),
    };
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ];
    response.headers_mut().extend(HEADERS);
    response
}

/// The bytes that a request says it has.
fn announced(request: &Request) -> usize {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

fn too_long() -> Response {
    let most = LONGEST_DATA >> 20;
    let sentence = format!("the lab takes data files of up to {most} MB: use the command for larger ones");
    refused(StatusCode::PAYLOAD_TOO_LARGE, &Mistake::data(sentence))
}

async fn page() -> Response {
    let Ok(nonce) = random_hex(16) else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, &Mistake::new("there are no random numbers"));
    };
    // Nothing is loaded from anywhere. Styles of the pictures stand within them.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, &policy)];
    (headers, html(&nonce)).into_response()
}

async fn status(State(lab): State<Arc<Lab>>) -> Response {
    match serde_json::to_string(&lab.load()) {
        Ok(load) => json(StatusCode::OK, load),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Which page asks: the newest question of each kind is the one that is answered.
#[derive(Deserialize)]
struct Asker {
    #[serde(default)]
    page: String,
}

async fn ask(
    State(lab): State<Arc<Lab>>,
    Path((_, kind)): Path<(String, String)>,
    Query(asker): Query<Asker>,
    question: String,
) -> Response {
    let (kind, ticket) = match lab.enter(&asker.page, &kind) {
        Ok(entered) => entered,
        Err(mistake) => return refused(StatusCode::SERVICE_UNAVAILABLE, &mistake),
    };
    // Whoever no longer waits for the answer ends its computation.
    let abandoned = CancelOnDrop(ticket.cancel_token().clone());
    let work = tokio::task::spawn_blocking(move || lab.answer(kind, &ticket, &question));
    match tokio::time::timeout(LONGEST_COMPUTATION, work).await {
        Ok(Ok(Ok(answer))) => json(StatusCode::OK, answer),
        Ok(Ok(Err(mistake))) if mistake.cancelled => refused(StatusCode::CONFLICT, &mistake),
        Ok(Ok(Err(mistake))) => refused(StatusCode::UNPROCESSABLE_ENTITY, &mistake),
        Ok(Err(_)) => {
            let sentence =
                "this is a mistake in the lab, not in the question: please report it with the model";
            refused(StatusCode::INTERNAL_SERVER_ERROR, &Mistake::new(sentence))
        }
        Err(_) => {
            drop(abandoned);
            let seconds = LONGEST_COMPUTATION.as_secs();
            let sentence =
                format!("the lab gave up after {seconds} seconds: use the command for what takes longer");
            refused(StatusCode::GATEWAY_TIMEOUT, &Mistake::new(sentence))
        }
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What a data file is called.
#[derive(Deserialize)]
struct Named {
    name: String,
}

async fn data(State(lab): State<Arc<Lab>>, Query(named): Query<Named>, bytes: Bytes) -> Response {
    let number = lab.add_data(DataFile::new(named.name, bytes.to_vec()));
    json(StatusCode::OK, format!("{{\"number\": {number}}}"))
}

fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn refused(status: StatusCode, mistake: &Mistake) -> Response {
    json(status, mistake.to_json())
}
