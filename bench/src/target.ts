/** Something that answers HTTP and is measured. */
export type Target = {
  name: string;
  url: string;
  /** Processes whose time counts, with their children: the service and its stores. Empty when it runs elsewhere. */
  pids: number[];
  /** Processes whose memory counts: the service without its stores. */
  memoryPids: number[];
};
