/**
 * Messages on their way. Each has an idempotency key that is made once, so that it is carried out once however often it is
 * sent; what has no answer yet is kept (in a browser in its tab, also over a reload) and sent again until it has one.
 *
 * Messages of one thread are sent in their order: a later one waits for those before it.
 */
import type { NewMessage } from './generated/api-types.js'
import type { HttpClient } from './http-client.js'
import { HttpError } from './http-error.js'
import { newKey, wait } from './requests.js'

export interface Outgoing {
  readonly key: string
  readonly threadId: string
  readonly message: NewMessage
  /** The newest position of the thread that was known when it was written; -1: none. */
  readonly behind: number
  /** `waiting`: it had no answer and is sent again. `accepted`: the server has it, and the thread has not taken it yet. */
  readonly state: 'sending' | 'waiting' | 'accepted' | 'refused'
  readonly messageId?: string
  readonly problem?: string
}

interface Outbox {
  messages(): readonly Outgoing[]
  subscribe(listener: () => void): () => void
  /** Reads what an earlier page of this tab kept, and sends it. Once; a repetition does nothing. */
  open(): void
  /** Sends a message, now or as soon as that is possible. Returns its key. */
  post(message: Pick<Outgoing, 'threadId' | 'message' | 'behind'>): string
  /** Sends a refused message again, with the same key. */
  postAgain(key: string): void
  /** An accepted message that the thread did not take. */
  refuse(messageId: string, problem: string): void
  /** Forgets messages: the thread has them, or nobody wants them any more. */
  forget(isMeant: (one: Outgoing) => boolean): void
}

interface Kept {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
}

const FIRST_PAUSE = 500
const LONGEST_PAUSE = 5_000

const boxes = new WeakMap<HttpClient, Outbox>()

/** The one outbox of a client. */
export function outboxOf(client: HttpClient): Outbox {
  const known = boxes.get(client)
  if (known !== undefined) return known
  const made = createOutbox(client)
  boxes.set(client, made)
  return made
}

/** What the functions of an outbox share. */
interface Box {
  readonly threads: HttpClient['threads']
  /** Under which what has no answer is kept. */
  readonly name: string
  readonly listeners: Set<() => void>
  /** The threads whose messages are being sent. */
  readonly busy: Set<string>
  all: readonly Outgoing[]
}

function createOutbox({ threads, url }: HttpClient): Outbox {
  const name = `everthread.outbox ${url}`
  const box: Box = { threads, name, listeners: new Set(), busy: new Set(), all: [] }
  let isOpen = false
  return {
    messages: () => box.all,
    subscribe: (listener) => {
      box.listeners.add(listener)
      return () => void box.listeners.delete(listener)
    },
    open: () => {
      if (isOpen) return
      isOpen = true
      const kept = readKept(name)
      if (kept.length === 0) return
      change(box, [...kept, ...box.all])
      for (const { threadId } of kept) void drain(box, threadId)
    },
    post: ({ threadId, message, behind }) => {
      const key = newKey()
      change(box, [...box.all, { key, threadId, message, behind, state: 'sending' }])
      void drain(box, threadId)
      return key
    },
    postAgain: (key) => {
      const refused = box.all.find((one) => one.key === key && one.state === 'refused')
      if (refused === undefined) return
      const { problem: _problem, ...rest } = refused
      change(
        box,
        box.all.map((one) => (one === refused ? { ...rest, state: 'sending' } : one)),
      )
      void drain(box, refused.threadId)
    },
    refuse: (messageId, problem) => {
      const accepted = box.all.find((one) => one.messageId === messageId)
      if (accepted !== undefined) update(box, accepted.key, { state: 'refused', problem })
    },
    forget: (isMeant) => {
      if (!box.all.some((one) => isMeant(one))) return
      change(
        box,
        box.all.filter((one) => !isMeant(one)),
      )
    },
  }
}

function change(box: Box, next: readonly Outgoing[]): void {
  box.all = next
  keep(
    box.name,
    next.filter((one) => isUnanswered(one)),
  )
  for (const listener of box.listeners) listener()
}

function update(box: Box, key: string, patch: Partial<Outgoing>): void {
  change(
    box,
    box.all.map((one) => (one.key === key ? { ...one, ...patch } : one)),
  )
}

/** Sends what waits for a thread, one after the other. */
async function drain(box: Box, threadId: string): Promise<void> {
  if (box.busy.has(threadId)) return
  box.busy.add(threadId)
  let pause = FIRST_PAUSE
  for (;;) {
    const next = box.all.find((one) => one.threadId === threadId && isUnanswered(one))
    if (next === undefined) break
    if (await deliver(box, next)) pause = FIRST_PAUSE
    else {
      await wait(pause)
      pause = Math.min(LONGEST_PAUSE, pause * 2)
    }
  }
  box.busy.delete(threadId)
}

/** False: it has to be sent again. */
async function deliver(box: Box, { key, threadId, message }: Outgoing): Promise<boolean> {
  try {
    const { messageId } = await box.threads.get(threadId).once(key).send(message)
    update(box, key, { state: 'accepted', messageId })
    return true
  } catch (error) {
    const isPassing = HttpError.mayPass(error)
    const problem = error instanceof Error ? error.message : String(error)
    update(box, key, isPassing ? { state: 'waiting' } : { state: 'refused', problem })
    return !isPassing
  }
}

function isUnanswered({ state }: Outgoing): boolean {
  return state === 'sending' || state === 'waiting'
}

/** Of this tab; undefined where there is none, as at the edge, and where the person allows none. */
function storage(): Kept | undefined {
  try {
    return (globalThis as { readonly sessionStorage?: Kept }).sessionStorage
  } catch {
    return undefined
  }
}

function readKept(name: string): readonly Outgoing[] {
  const text = storage()?.getItem(name) ?? null
  // Written by this file.
  return text === null ? [] : (JSON.parse(text) as readonly Outgoing[])
}

function keep(name: string, messages: readonly Outgoing[]): void {
  try {
    storage()?.setItem(name, JSON.stringify(messages))
  } catch {
    // It is full: they are sent all the same, as long as this page is open.
  }
}
