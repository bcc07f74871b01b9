import type { DeskVersion } from '../desk/chaos-prompts.js'
import type { Api } from './http-threads.js'

/** What a process of chaos gets as its argument, as JSON. */
interface Place {
  /** Of Temporal, by a proxy of the process's own. */
  readonly address: string
  /** Its database by such a proxy too. */
  readonly store: { readonly database: string; readonly blobs: string; readonly secretKey: string }
  readonly taskQueue: string
}

/** What workers and the client tell each other beside the product. */
interface Gated {
  /** Folder. */
  readonly gates: string
}

export interface WorkerPlace extends Place, Gated {
  readonly version: DeskVersion
  readonly codePath: string
  /** Journal of what tools and models do. */
  readonly deeds: string
  /** Milliseconds that running activities get after SIGTERM. */
  readonly graceTime: number
}

export interface ApiPlace extends Place {
  /** The same for each process of its slot. */
  readonly port: number
  readonly token: string
}

export interface ClientPlace extends Place, Gated {
  readonly api: Api
  readonly seed: number
  /** Threads at a time. */
  readonly lanes: number
  /** Milliseconds; null is the default of threads. */
  readonly heartbeatTimeout: number | null
  /** Journal of what was acknowledged. */
  readonly acknowledged: string
  /** Journal of the events that were received. */
  readonly received: string
  /** Journal of the answers to requests. */
  readonly answers: string
  /** No thread is begun any more, and those that are there skip to their last words. */
  readonly finish: boolean
}

/** What a worker says to the driver. */
export type WorkerReport =
  /** `door`: of the package that it runs. */
  | { readonly kind: 'running'; readonly door: string }
  | { readonly kind: 'begun'; readonly threadId: string; readonly activity: string; readonly attempt: number }
  | { readonly kind: 'ended'; readonly threadId: string; readonly activity: string; readonly ok: boolean }

/** What the API says to the driver. */
export interface ApiReport {
  readonly kind: 'running'
}

/** What the client says to the driver, and the driver to it. */
export type ClientReport = { readonly kind: 'running' } | { readonly kind: 'finished' }
export type ClientOrder = { readonly kind: 'finish' }
