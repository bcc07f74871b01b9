/**
 * Messages on their way. Each has an idempotency key that is made once, so that it is carried out once however often it is
 * sent; what has no answer yet is kept in this tab (`sessionStorage`), also over a reload, and sent again until it has one.
 *
 * Messages of one thread are sent in their order: a later one waits for those before it.
 */
import { signal } from '@preact/signals'
import { mayPass, problemText, request, threadPath } from './api.js'

export interface Outgoing {
  readonly key: string
  readonly threadId: string
  readonly content: string
  /** Paths of the thread's files. */
  readonly attachments: readonly string[]
  /** `waiting`: it had no answer and is sent again. `accepted`: the server has it, and the thread has not taken it yet. */
  readonly state: 'sending' | 'waiting' | 'accepted' | 'refused'
  readonly messageId?: string
  readonly problem?: string
}

const KEPT = 'everthread.outbox'
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 5_000

export const outbox = signal<readonly Outgoing[]>([])

const busy = new Set<string>()

/** Reads what an earlier page of this tab kept, and sends it. */
export function openOutbox(): void {
  const text = sessionStorage.getItem(KEPT)
  // Written by this file.
  const kept = text === null ? [] : (JSON.parse(text) as readonly Outgoing[])
  outbox.value = kept
  for (const { threadId } of kept) void drain(threadId)
}

/** Sends a message, now or as soon as that is possible. */
export function post(message: Pick<Outgoing, 'threadId' | 'content' | 'attachments'>): void {
  const key = crypto.randomUUID()
  change([...outbox.value, { ...message, key, state: 'sending' }])
  void drain(message.threadId)
}

/** Sends a refused message again, with the same key. */
export function postAgain({ key, threadId }: Outgoing): void {
  update(key, { state: 'sending' })
  void drain(threadId)
}

/** Forgets a message: the thread has it, or nobody wants it any more. */
export function forget(isMeant: (one: Outgoing) => boolean): void {
  if (outbox.value.some(isMeant)) change(outbox.value.filter((one) => !isMeant(one)))
}

function change(next: readonly Outgoing[]): void {
  outbox.value = next
  const kept = next.filter(({ state }) => state === 'sending' || state === 'waiting')
  sessionStorage.setItem(KEPT, JSON.stringify(kept))
}

function update(key: string, patch: Partial<Outgoing>): void {
  change(outbox.value.map((one) => (one.key === key ? { ...one, ...patch } : one)))
}

async function drain(threadId: string): Promise<void> {
  if (busy.has(threadId)) return
  busy.add(threadId)
  try {
    let pause = FIRST_PAUSE
    for (;;) {
      const next = outbox.value.find(
        (one) => one.threadId === threadId && (one.state === 'sending' || one.state === 'waiting'),
      )
      if (next === undefined) return
      if (await deliver(next)) pause = FIRST_PAUSE
      else {
        await waitForConnection(pause)
        pause = Math.min(LONGEST_PAUSE, pause * 2)
      }
    }
  } finally {
    busy.delete(threadId)
  }
}

/** False: it has to be sent again. */
async function deliver({ key, threadId, content, attachments }: Outgoing): Promise<boolean> {
  try {
    const body = { content, key, ...(attachments.length > 0 && { attachments }) }
    const { messageId } = await request<{ readonly messageId: string }>(threadPath(threadId, '/messages'), {
      body,
    })
    update(key, { state: 'accepted', messageId })
    return true
  } catch (error) {
    if (mayPass(error)) {
      update(key, { state: 'waiting' })
      return false
    }
    update(key, { state: 'refused', problem: problemText(error) })
    return true
  }
}

function waitForConnection(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      removeEventListener('online', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    addEventListener('online', end)
  })
}
