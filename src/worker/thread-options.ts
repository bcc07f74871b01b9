import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { RunCaps } from '../protocol/plan.js'
import type { StoreOptions } from '../store/store-location.js'
import type { InstanceEnv } from './instance-env.js'

/** What a worker has to know of threads. */
export interface ThreadOptions {
  readonly registry: Registry
  /** Where threads are stored: the same place as the clients' store. */
  readonly store?: StoreOptions
  /** Values of variables for every thread (Standard Agents' instance level): `{ API_KEY: process.env.API_KEY }`. */
  readonly env?: InstanceEnv
  /** Hard caps that hold whatever an agent says. @default 250 steps a run, 100 session turns, 8 equal tool errors */
  readonly limits?: Partial<RunCaps>
  /**
   * What the end user of a thread reads where a run ends without an answer: one text, or a function of the failure that
   * returns one. The log and `everthread inspect` say what has happened, whatever this says.
   * @default sentences that name the model and the kind of failure
   */
  readonly failureText?: FailureText
  /**
   * `false`: for the `taskQueue` of tools and models: their calls run there, and no threads.
   * @default true
   */
  readonly workflows?: boolean
}
