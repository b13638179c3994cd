//! Bytes in the gzip format, uncompressed inside (RFC 1952, stored blocks of RFC 1951): enough to be
//! what `content-encoding: gzip` says.

/// The most that one stored block holds.
const BLOCK_BYTES: usize = u16::MAX as usize;
/// Magic number, method deflate, no flags, no time, no extra flags, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The bytes as one member of a gzip file.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    let count = bytes.len().div_ceil(BLOCK_BYTES);
    for (place, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(place + 1 == count));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(crc32(bytes).to_le_bytes());
    // The format keeps the length modulo 2^32.
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_format() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let out = gzip(b"abc");
        assert_eq!(out[10..18], [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c']);
        assert_eq!(out[out.len() - 4..], [3, 0, 0, 0]);
    }
}
