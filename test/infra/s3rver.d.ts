declare module '@20minutes/s3rver' {
  export default class S3rver {
    constructor(options: { address: string; port: number; directory: string; silent: boolean });
    run(): Promise<unknown>;
    close(): Promise<void>;
  }
}
