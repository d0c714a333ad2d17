// What is loaded when it is first used: passwords, downloads, uploads that go on where they broke off, and what owners ask for.

export { openContent } from './content.ts';
export { download } from './downloads.ts';
export { endLease } from './kept-download.ts';
export { getLeasedInfo, openLease } from './open-lease.ts';
export { openLink } from './open-link.ts';
export { getOwnStatus, setHooks, setTerms } from './owned.ts';
export { cancelUpload, getStoredBytes, resumeUpload, uploadInParts, uploadStreamInParts } from './parted-uploads.ts';
export { readMetadata } from './read-metadata.ts';
export { getUsage } from './usage.ts';
