import type { Ending, ThreadControl } from './control.js'

/** Variables came while a run found some missing: it is not parked, the next one looks for them. */
export function looksAgain({ queue, request }: ThreadControl, ending: Ending): boolean {
  const lacksVariables = ending.outcome === 'blocked' && (ending.request !== undefined || request !== null)
  return lacksVariables && queue.some(({ kind }) => kind === 'variables')
}
