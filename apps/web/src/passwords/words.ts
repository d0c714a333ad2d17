/** 2,048 short English words, no two alike in their first four letters. Loaded when somebody asks for a password. */
export async function loadWords(): Promise<readonly string[]> {
  const { wordlist } = await import('@scure/bip39/wordlists/english.js');
  return wordlist;
}
