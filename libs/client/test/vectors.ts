// biome-ignore lint/style/noRestrictedImports: the known answers are published with the format that they are of
import vectors from '../../../docs/vectors/vectors.json' with { type: 'json' };

/** Known answers for every step of docs/crypto.md. */
export default vectors;
