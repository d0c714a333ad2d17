// Loaded where neither the browser nor Node has this key encapsulation: 20 kB that others do not need.
export { KEM_MLKEM768_X25519 } from '@panva/hpke-noble';
