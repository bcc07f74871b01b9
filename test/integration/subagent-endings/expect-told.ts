import { expect } from 'vitest'

import type { ThreadHandle } from '../../../src/client/index.js'
import type { Message } from '../../../src/index.js'
import { marked } from '../../support/marker.js'
import { factsOf } from '../../support/thread-facts.js'
import { until } from '../../support/until.js'
import { wordsOf } from './model.js'
import { NOTES, PATIENCE, PAUSE } from './scene.js'
import type { Place, Scene } from './scene.js'

/** What a parent has of the end of its subagent. */
export interface Told {
  /** Words that nothing else in the parent has; null: nothing is told. */
  readonly words: string | null
  /** Of its registry. */
  readonly status: string
  /** The subagent takes nothing any more. */
  readonly closed: boolean
  /** It gave the file back. */
  readonly file?: boolean
  /** Whether a call waited. @default the kind's own */
  readonly blocking?: boolean
  /** What happens once more before the parent goes on. */
  readonly after?: (scene: Scene, told: Told) => Promise<void>
}

/** From outside: told once in rows and in requests, in the registry, and nothing runs that should not. */
export async function expectTold(scene: Scene, told: Told): Promise<void> {
  const { parent, child, kind } = scene
  await until(
    `the status ${told.status} of ${scene.id}`,
    async () => (await parent.snapshot()).children[0]?.status === told.status,
    PATIENCE,
    PAUSE,
  )
  if (told.words !== null)
    await until(
      'the words',
      async () => (await saying(scene, told)).some(({ position }) => position !== null),
      PATIENCE,
      PAUSE,
    )
  await parent.waitUntilIdle({ timeout: PATIENCE })
  await expectOnce(scene, told)
  expect((await parent.snapshot()).children).toMatchObject([
    { reference: child.threadId, status: told.status, resumable: kind.stays, blocking: kind.blocking },
  ])
  await expectRunning(scene.place, parent, told.closed ? [parent] : [parent, child])
  await told.after?.(scene, told)
  await expectUsable(scene, told)
}

/** One row, and one message of the last request; a request for each thing that the parent learnt. */
export async function expectOnce(scene: Scene, told: Told): Promise<void> {
  const { place, parent, child, id, kind } = scene
  const blocking = told.blocking ?? kind.blocking
  const rows = await saying(scene, told)
  if (told.words === null) expect(rows).toEqual([])
  else {
    const row = { position: expect.any(Number), subagent_id: child.threadId, silent: !blocking }
    expect(rows).toMatchObject([{ role: blocking ? 'tool' : 'user', ...row }])
    expect(await filesOf(parent, rows)).toEqual(told.file === true ? [NOTES] : [])
  }
  const requests = clerkRequests(place, id)
  const last = requests.at(-1) ?? []
  const heard = last.filter(({ content }) => JSON.stringify(content).includes(wireText(told.words)))
  expect(heard).toHaveLength(told.words === null ? 0 : 1)
  // What is told of a child once is told of it under no other words.
  const others = (await allRows(parent)).filter(
    ({ subagent_id, role }) => subagent_id === child.threadId && role === 'user',
  )
  expect(others).toHaveLength(told.words === null || blocking ? 0 : 1)
  await expectWholeOf(parent)
}

async function expectWholeOf(thread: ThreadHandle): Promise<void> {
  const positions = (await allRows(thread)).map(({ position }) => position)
  expect(positions).toEqual(positions.map((_, index) => index + 1))
  const facts = await factsOf(thread)
  expect(facts.map(({ sequence }) => sequence)).toEqual(facts.map((_, index) => index + 1))
}

/** Temporal's list of the tree, as the server has it a moment later. */
export async function expectRunning(
  { fixture }: Place,
  root: ThreadHandle,
  threads: readonly ThreadHandle[],
): Promise<void> {
  const expected = threads.map(({ threadId }) => threadId).toSorted()
  let running: readonly string[] = []
  await until(
    `only ${expected.join()} running, not others`,
    async () => {
      running = await runningIn(fixture.threads.temporal, root.threadId)
      return running.join() === expected.join()
    },
    PATIENCE,
    PAUSE,
  ).catch((error: unknown) => {
    expect(running).toEqual(expected)
    throw error
  })
}

async function runningIn(temporal: Place['fixture']['threads']['temporal'], root: string): Promise<string[]> {
  const ids: string[] = []
  const query = `ThreadRoot = "${root}" AND ExecutionStatus = "Running"`
  for await (const { workflowId } of temporal.workflow.list({ query })) ids.push(workflowId)
  return ids.toSorted()
}

/** The parent answers; a subagent that stays does another task for it, and neither hears of the end again. */
async function expectUsable(scene: Scene, told: Told): Promise<void> {
  const { parent, child, kind, id, worker } = scene
  worker.release()
  const before = await allRows(parent)
  const stays = kind.stays && !told.closed
  await parent.send(
    marked(stays ? `please tell ${child.threadId}: Task: deliver again #${id}` : `And now? #${id}`),
  )
  const news = async (): Promise<readonly Message[]> => (await allRows(parent)).slice(before.length)
  const noted = async (): Promise<boolean> => {
    const rows = await news()
    const last = rows.at(-1)
    if (last?.role !== 'assistant' || last.content !== marked(`Noted, #${id}.`)) return false
    const words = stays && !kind.explicit ? wordsOf(id, 'deliver again') : ''
    const [entry] = (await parent.snapshot()).children
    return (
      rows.some(({ content }) => content?.includes(words) === true) &&
      (!stays || entry?.status === 'completed')
    )
  }
  await until('an answer, and the next session', noted, PATIENCE, PAUSE)
  await parent.waitUntilIdle({ timeout: PATIENCE })
  expect((await allRows(parent)).slice(0, before.length)).toEqual(before)
  if (told.words === null || (kind.explicit && kind.blocking)) return
  expect((await news()).filter(({ content }) => content?.includes(told.words ?? '') === true)).toEqual([])
}

export async function allRows(thread: ThreadHandle): Promise<readonly Message[]> {
  return (await thread.messages({ limit: 1000, includeSilent: true })).messages
}

async function saying({ parent }: Scene, { words }: Told): Promise<readonly Message[]> {
  if (words === null) return []
  return (await allRows(parent)).filter(
    ({ content, role }) => role !== 'assistant' && content?.includes(words) === true,
  )
}

function clerkRequests({ fixture }: Place, id: string) {
  return fixture.model
    .requests(id)
    .filter(([system]) => JSON.stringify(system?.content).includes('You are the clerk'))
}

async function filesOf(thread: ThreadHandle, rows: readonly Message[]): Promise<readonly string[]> {
  const paths = rows.flatMap(({ attachments }) => attachments.map(({ path }) => path))
  return Promise.all(
    paths.map(async (path) => new TextDecoder().decode((await thread.readFile(path)) ?? undefined)),
  )
}

/** As it stands inside of a JSON text. */
function wireText(words: string | null): string {
  return words === null ? 'no such words' : JSON.stringify(words).slice(1, -1)
}
