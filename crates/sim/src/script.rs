//! Steps of a server that plays bytes, on one connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawStep {
    /// Read one more request of the connection. The first is read before the first step.
    AwaitRequest,
    /// Close the connection in good order (FIN). The end of a script does so too.
    Close,
    /// Write these bytes one by one.
    Drip {
        /// The bytes.
        bytes: Vec<u8>,
        /// From one to the next.
        pause: Duration,
    },
    /// Stay silent until the client closes the connection, then close it.
    Hold,
    /// Write these bytes again and again.
    Repeat {
        /// The bytes.
        bytes: Vec<u8>,
        /// How often; `None`: until the client closes the connection.
        times: Option<u64>,
    },
    /// Tear the connection down (RST).
    Reset,
    /// Stay silent for a while.
    Wait(Duration),
    /// Write these bytes in one go.
    Write(Vec<u8>),
}

/// Whether a script goes on after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Next,
    Over,
}

/// Plays a script that reads no request, and ends the connection.
pub(crate) async fn play(stream: &mut TcpStream, script: Vec<RawStep>) -> io::Result<()> {
    for step in script {
        if perform(stream, step).await? == After::Over {
            return Ok(());
        }
    }
    stream.shutdown().await
}

/// Carries out one step. Reading requests is the caller's part.
pub(crate) async fn perform(stream: &mut TcpStream, step: RawStep) -> io::Result<After> {
    match step {
        RawStep::AwaitRequest => {}
        RawStep::Close => {
            stream.shutdown().await?;
            return Ok(After::Over);
        }
        RawStep::Drip { bytes, pause } => {
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(pause).await;
            }
        }
        RawStep::Hold => while stream.read(&mut [0; 1024]).await? > 0 {},
        RawStep::Repeat { bytes, times } => {
            let mut left = times;
            while left != Some(0) {
                stream.write_all(&bytes).await?;
                left = left.map(|left| left - 1);
            }
        }
        RawStep::Reset => {
            stream.set_zero_linger()?;
            return Ok(After::Over);
        }
        RawStep::Wait(pause) => tokio::time::sleep(pause).await,
        RawStep::Write(bytes) => stream.write_all(&bytes).await?,
    }
    Ok(After::Next)
}
