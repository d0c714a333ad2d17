/** Where a browser is reached, as its push service gave it; `key` is echoed to it. */
export type PushHook = { host: string; endpoint: string; p256dh: string; auth: string; key: string };
/** An address of the owner's, and what its requests are signed with. */
export type WebHook = { host: string; url: string; secret: string; key: string };
/** Whom to tell of an item's uses: at most one of each kind. `host` is the receiver's, with its port. */
export type Hooks = { push?: PushHook; webhook?: WebHook };
