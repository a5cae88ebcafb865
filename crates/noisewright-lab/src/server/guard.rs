//! Who may ask: requests to this machine's own name, from the page itself, with the token.

use axum::http::{HeaderMap, StatusCode, header};

/// What a request must carry.
#[derive(Clone)]
pub(super) struct Guard {
    port: u16,
    token: String,
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) sentence: &'static str,
}

impl Guard {
    pub(super) fn new(port: u16, token: String) -> Self {
        Self { port, token }
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Lets a request in. A page of another origin can neither name this host by a name of its own (DNS rebinding), nor
    /// leave its own origin out of a request that writes, nor know the token.
    pub(super) fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let refused = |status, sentence| Err(Refusal { status, sentence });
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let host = text(headers, header::HOST);
        if !host.is_some_and(|host| own.iter().any(|own| own == host)) {
            return refused(StatusCode::FORBIDDEN, "the lab answers at 127.0.0.1 alone");
        }
        let is_own = |origin: &str| own.iter().any(|own| origin == format!("http://{own}"));
        if headers.contains_key(header::ORIGIN) && !text(headers, header::ORIGIN).is_some_and(is_own) {
            return refused(StatusCode::FORBIDDEN, "the lab answers its own page alone");
        }
        let token = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return refused(
                StatusCode::FORBIDDEN,
                "the address lacks the lab's token: take the one that was printed",
            );
        }
        Ok(())
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    // Two of them are none: which of them others believe is not known.
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() { None } else { first.to_str().ok() }
}

/// Equality in a time that does not tell how much is equal.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, headers: &[(&str, &str)]) -> Result<(), StatusCode> {
        let map = headers.iter().map(|(name, value)| {
            (name.parse::<header::HeaderName>().unwrap(), value.parse::<header::HeaderValue>().unwrap())
        });
        Guard::new(8000, "abc".into()).check(path, &map.collect()).map_err(|refusal| refusal.status)
    }

    #[test]
    fn only_the_pages_own_requests_pass() {
        let host = ("host", "127.0.0.1:8000");
        assert_eq!(checked("/abc/", &[host]), Ok(()));
        assert_eq!(checked("/abc/ask/look", &[host, ("origin", "http://127.0.0.1:8000")]), Ok(()));
        assert_eq!(checked("/abc/", &[("host", "localhost:8000")]), Ok(()));
        let refused = Err(StatusCode::FORBIDDEN);
        for path in ["/", "/abd/", "/abcd/", "/ab/", "//abd", "/ABC/"] {
            assert_eq!(checked(path, &[host]), refused, "{path}");
        }
        assert_eq!(checked("/abc/", &[]), refused);
        for name in ["evil.example", "127.0.0.1:8001", "127.0.0.1", "127.0.0.1.evil.example:8000"] {
            assert_eq!(checked("/abc/", &[("host", name)]), refused, "{name}");
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:80001"] {
            assert_eq!(checked("/abc/", &[host, ("origin", origin)]), refused, "{origin}");
        }
        assert_eq!(checked("/abc/", &[host, ("host", "evil.example")]), refused);
    }
}
