import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';

/** DER: a tag, a length, what is in it. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length =
    content.length < 0x80
      ? Buffer.from([content.length])
      : content.length < 0x100
        ? Buffer.from([0x81, content.length])
        : Buffer.from([0x82, content.length >> 8, content.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, content]);
}
const [SEQUENCE, SET, INTEGER, BITS, OCTETS, OID, UTF8, TIME] = [0x30, 0x31, 0x02, 0x03, 0x04, 0x06, 0x0c, 0x18];
const ECDSA_SHA256 = der(SEQUENCE, der(OID, Buffer.from('2a8648ce3d040302', 'hex')));
const SUBJECT_ALT_NAME = der(OID, Buffer.from('551d11', 'hex'));

/** A certificate that signs itself, for 127.0.0.1 and these names, and its key, as PEM. */
export function selfSigned(...names: string[]): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // Two of one name would be taken for each other.
  const common = der(SEQUENCE, der(OID, Buffer.from('550403', 'hex')), der(UTF8, Buffer.from(randomUUID())));
  const name = der(SEQUENCE, der(SET, common));
  const altNames = der(
    SEQUENCE,
    ...names.map((one) => der(0x82, Buffer.from(one))),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    name,
    der(SEQUENCE, der(TIME, Buffer.from('20200101000000Z')), der(TIME, Buffer.from('21200101000000Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTETS, altNames)))),
  );
  const signature = der(BITS, Buffer.from([0]), sign('sha256', body, privateKey));
  const lines = der(SEQUENCE, body, ECDSA_SHA256, signature).toString('base64').replace(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
