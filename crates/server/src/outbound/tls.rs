//! Secured connections, checked against the certificates this machine trusts.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The certificates are read when the first secured address is called, and then kept.
#[derive(Clone, Default)]
pub(super) struct Tls(Arc<OnceCell<TlsConnector>>);

impl Tls {
    /// Trusts what it is told, not what the machine trusts.
    #[cfg(test)]
    pub(super) fn trusting(roots: RootCertStore) -> Self {
        Self(Arc::new(OnceCell::new_with(connector(roots).ok())))
    }

    /// Secures a connection to a host of that name.
    pub(super) async fn secure(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let connector = self.0.get_or_try_init(of_the_machine).await?;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| "its name cannot be in a certificate".to_owned())?;
        let secured = connector.connect(name, stream).await;
        secured.map_err(|error| error.to_string())
    }
}

async fn of_the_machine() -> Result<TlsConnector, String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (trusted, _) = roots.add_parsable_certificates(found.certs);
        if trusted == 0 {
            return Err("this machine has no certificates to trust".to_owned());
        }
        connector(roots)
    });
    read.await.map_err(|error| error.to_string())?
}

fn connector(roots: RootCertStore) -> Result<TlsConnector, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
