// The words of the contract that the service and its clients share. It depends on nothing: browsers load it, too.

/** The stored form of an id; clients may write it in capitals. Contract 1. */
export const ID_PATTERN = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

export const PASSWORD_ALGOS = ['argon2id', 'pbkdf2'] as const;
export type PasswordAlgo = (typeof PASSWORD_ALGOS)[number];

export const NOTE_CONTENT_TYPES = ['text', 'password', 'code', 'markdown', 'sshkey'] as const;
export type NoteContentType = (typeof NOTE_CONTENT_TYPES)[number];

/** What somebody reports, and why an operator blocks. Contract 17. */
export const REPORT_KINDS = ['malware', 'phishing', 'csam', 'copyright', 'other'] as const;
export type ReportKind = (typeof REPORT_KINDS)[number];
