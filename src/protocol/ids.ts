/** Ids of runs, steps and calls: made from counters of the carried state, so that a retry, a replay and a reset give the same. */

export function runIdOf(run: number): string {
  return `run_${run}`
}

export function stepIdOf(run: number, step: number): string {
  return `step_${run}_${step}`
}

/** Of a step, or of the nested step that a prompt tool's call makes. */
export function modelOperationId(run: number, step: number, frameCallId: string | null = null): string {
  return frameCallId === null ? `model_${run}_${step}` : `model_${run}_${step}_${frameCallId}`
}

/** Of the beginning of a run whose first call was not chosen by a model. */
export function beginOperationId(run: number): string {
  return `begin_${run}`
}

/** Also the operation id of the call, and what providers see as tool-call id. */
export function callIdOf(run: number, step: number, index: number): string {
  return `call_${run}_${step}_${index}`
}

/** Of what comes before a step, as a prompt becomes active; `key`: whose prompt. Its calls are numbered like nested ones. */
export function immediatesId(
  { run, step }: { readonly run: number; readonly step: number },
  key: string,
): string {
  return `immediate_${run}_${step}_${key}`
}

/** What is added to the key of a prompt that becomes active after others of its run. */
export function activationSuffix(activations: number | undefined): string {
  return activations === undefined ? '' : `n${activations}`
}

/**
 * By this id the workflow names what comes before a step: it knows how many prompts became active before that step, and not
 * for which side the activity finds a prompt. It is the key of the operation, whose own id also names agent and side.
 */
export function activationId(
  { run, step }: { readonly run: number; readonly step: number },
  activations: number | undefined,
): string {
  return `activation_${run}_${step}${activationSuffix(activations)}`
}

/** A call that the nested step of a prompt tool makes. */
export function nestedCallIdOf(frameCallId: string, index: number): string {
  return `${frameCallId}_${index}`
}

/** The operation id of the second half of a call that waited for its result. */
export function resultOperationId(callId: string): string {
  return `${callId}_result`
}

/** The operation id of the work of a worker in another language for a call: its row holds the claim and the answer. */
export function remoteOperationId(callId: string): string {
  return `${callId}_remote`
}

export function settleOperationId(settle: number): string {
  return `settle_${settle}`
}

export function reportOperationId(report: number): string {
  return `report_${report}`
}

/** What a tool gives to the service it calls, so that a repeated request does nothing twice. */
export function idempotencyKeyOf(threadId: string, callId: string): string {
  return `${threadId}:${callId}`
}

/** How a thread is tied to its store: by the store's id, in its start, in its memo and in the input of each activity. */

/** The field that the guard of activities adds to an answer whose input named no store: the store of the worker. */
export interface StoreAnswer {
  readonly store?: string
}

/** As `store/store-location.ts` makes it. */
export function isStoreId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-z]{12}$/.test(value)
}

/** In the memo of a thread: the id of its store. One that was started by hand has none. */
export const STORE_MEMO = 'store'
