//! The page on this machine: to whoever has its address, and to nobody else.

mod guard;
mod routes;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use self::guard::Guard;
use crate::Lab;

/// Room on the stack of a computation: a deeply nested formula is walked by recursion.
const STACK: usize = 32 << 20;
/// How long computations that were cancelled are waited for at the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the token: 2¹²⁸ addresses.
const TOKEN_BYTES: usize = 16;

/// Why there is no server.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The port is not to be had.
    Port(u16, io::Error),
    /// The machine has no threads, sockets or random numbers to give.
    System(String),
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(0, error) => write!(f, "no port of this machine can be listened at: {error}"),
            Self::Port(port, error) => {
                write!(
                    f,
                    "port {port} of this machine cannot be listened at: {error}; leave --port out for a free one"
                )
            }
            Self::System(reason) => write!(f, "the lab cannot be served: {reason}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A lab that listens, at an address of this machine that nobody can guess.
///
/// ```
/// use noisewright_lab::{Lab, Server};
/// let server = Server::bind(Lab::default(), 0)?;
/// assert!(server.address().starts_with("http://127.0.0.1:"));
/// # Ok::<(), noisewright_lab::ServerError>(())
/// ```
pub struct Server {
    lab: Arc<Lab>,
    listener: TcpListener,
    guard: Guard,
    runtime: Runtime,
}

impl Server {
    /// Listens at a port of 127.0.0.1, at a free one if it is 0.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn bind(lab: impl Into<Arc<Lab>>, port: u16) -> Result<Self, ServerError> {
        let taken = |error| ServerError::Port(port, error);
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let port = listener.local_addr().map_err(taken)?.port();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(STACK)
            .thread_name("noisewright-lab")
            .enable_all()
            .build()
            .map_err(|error| ServerError::System(error.to_string()))?;
        let guard = Guard::new(port, random_hex(TOKEN_BYTES)?);
        Ok(Self { lab: lab.into(), listener, guard, runtime })
    }

    /// The address, with the token.
    #[must_use]
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// Serves until Ctrl-C, then ends all computations.
    ///
    /// # Errors
    /// When the machine takes the port away.
    pub fn run(self) -> Result<(), ServerError> {
        self.run_until(async {
            // Without a way to hear of Ctrl-C the process ends by it all the same.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Serves until something happens, then ends all computations.
    fn run_until(self, end: impl Future<Output = ()>) -> Result<(), ServerError> {
        let Self { lab, listener, guard, runtime } = self;
        let system = |error: io::Error| ServerError::System(error.to_string());
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(system)?;
            let routes = routes::router(Arc::clone(&lab), guard);
            // Idle connections of a browser would be waited for: they are dropped with the runtime.
            tokio::select! {
                served = axum::serve(listener, routes).into_future() => served.map_err(system),
                () = end => Ok(()),
            }
        });
        lab.cancel_all();
        runtime.shutdown_timeout(PATIENCE);
        served
    }

    /// Serves in the background for as long as the process lives, or until it is told to stop.
    pub fn start(self) -> Running {
        let address = self.address();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let wait = async move {
            // Whoever forgets the handle lets the server live on.
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let thread = std::thread::spawn(move || self.run_until(wait));
        Running { address, stop: Some(stop), thread: Some(thread) }
    }
}

/// A server in the background.
pub struct Running {
    address: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Result<(), ServerError>>>,
}

impl Running {
    /// The address, with the token.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it, and waits until it has.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// So many random bytes of the operating system, as hexadecimal digits.
fn random_hex(count: usize) -> Result<String, ServerError> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|error| ServerError::System(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
