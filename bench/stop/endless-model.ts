import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Context } from '@temporalio/activity'

import { now } from '../clock.js'
import { benchModel } from '../loop/model-parts.js'

/** When a thread's model began to answer, and when its call was aborted: on the clock of the machine. */
export interface Calls {
  readonly began: (threadId: string) => Promise<number>
  readonly aborted: (threadId: string) => Promise<number>
}

/** A model that says one word and then nothing, until its call is aborted. */
export function endlessModel(): { readonly model: LanguageModelV4; readonly calls: Calls } {
  const begun = createMoments()
  const aborts = createMoments()
  const model = benchModel('endless', ({ abortSignal }) => {
    const threadId = Context.current().info.workflowExecution?.workflowId ?? ''
    if (abortSignal === undefined) throw new Error('Expected a signal that aborts the call.')
    const aborted = new Promise<never>((_, reject) => {
      abortSignal.addEventListener('abort', () => {
        aborts.come(threadId)
        reject(new Error('Aborted.'))
      })
    })
    begun.come(threadId)
    return untilAborted(aborted)
  })
  return { model, calls: { began: (id) => begun.of(id), aborted: (id) => aborts.of(id) } }
}

async function* untilAborted(aborted: Promise<never>): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '1' }
  yield { type: 'text-delta', id: '1', delta: 'Well, ' }
  await aborted
}

interface Moments {
  come(threadId: string): void
  of(threadId: string): Promise<number>
}

/** The first moment of each thread, whether somebody waits for it already or not. */
function createMoments(): Moments {
  const moments = new Map<string, Moment>()
  const momentOf = (threadId: string): Moment => {
    const moment = moments.get(threadId) ?? createMoment()
    moments.set(threadId, moment)
    return moment
  }
  return {
    come: (threadId) => momentOf(threadId).come(now()),
    of: (threadId) => momentOf(threadId).came,
  }
}

interface Moment {
  readonly came: Promise<number>
  readonly come: (at: number) => void
}

function createMoment(): Moment {
  let come = (_at: number): void => {}
  const came = new Promise<number>((resolve) => (come = resolve))
  return { came, come: (at) => come(at) }
}
