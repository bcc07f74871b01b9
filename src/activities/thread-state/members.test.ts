import { expect, test } from 'vitest'
import { createRedactor } from '../variables/redactor.js'
import { createCallGate } from './journal.js'
import { createThreadState, makeMethods, MEMBERS } from './members.js'
import type { MemberTable } from './members.js'

/** Members by what of their arguments is stored without the secrets that the code was given (T5). */
const ALL =
  'injectMessage queueMessage updateMessage queueTool scheduleEffect emit notifyParent setStatus getValue setValue ' +
  'readFile readFileStream statFile readdirFile unlinkFile mkdirFile rmdirFile'
const LABELS = 'writeFile'
const NONE =
  'getMessages getMessage deleteMessage loadAgent loadPrompt loadModel getAgentNames getPromptNames getModelNames ' +
  'getChildThread getParentThread env envType setEnv invokeTool getScheduledEffects removeScheduledEffect ' +
  'grepFiles findFiles getFileStats'
/** They answer without looking at an argument. */
const CONSTANT = ['getFileThumbnail', 'usage', 'terminate']

/** Answers what it was given, whatever it is called. */
const echo = (...given: readonly unknown[]): unknown => given

test.each([
  [ALL, ['[secret KEY]', '[secret KEY]', '[secret KEY]']],
  [LABELS, ['[secret KEY]', 'hush-hush', '[secret KEY]']],
  [NONE, ['hush-hush', 'hush-hush', 'hush-hush']],
])('T5 %s get %j for three secrets', async (names, expected) => {
  const redactor = createRedactor()
  redactor.note('KEY', 'hush-hush')
  const known = {
    ...{ threadId: '', agentId: '', userId: '', createdAt: 0, terminated: null },
    ...{ execution: null, context: {}, children: [] },
  }
  const methods = makeMethods(() => echo)
  const state = createThreadState({ gate: createCallGate('call c'), redactor, known, methods })
  for (const name of names.split(' ')) {
    const member: unknown = Reflect.get(state, name)
    if (typeof member !== 'function') throw new Error(`Expected ${name} to be a function.`)
    const got: unknown = await Reflect.apply(member, state, ['hush-hush', 'hush-hush', 'hush-hush'])
    expect([name, got]).toEqual([name, expected])
  }
  const named = [ALL, LABELS, NONE].flatMap((list) => list.split(' '))
  expect([...named, ...CONSTANT, ...Object.keys(known)].toSorted()).toEqual(Object.keys(MEMBERS).toSorted())
})

test('a member without a row, or with less than a row, does not compile', () => {
  const { getValue: _read, setValue: _write, emit: _emit, ...others } = MEMBERS
  const read = { access: 'read', redacts: 'none' } as const
  const write = { access: 'write', redacts: 'arguments', beforeStart: 'allowed' } as const
  const complete: MemberTable = { ...others, getValue: read, setValue: write, emit: { ...write, sync: true } }
  // @ts-expect-error -- `emit` has no row.
  const without: MemberTable = { ...others, getValue: read, setValue: write }
  // @ts-expect-error -- What a hook may do with a write before a subagent starts is part of its row.
  const unwalled: MemberTable = { ...complete, setValue: { access: 'write', redacts: 'arguments' } }
  // @ts-expect-error -- What of its arguments is stored without secrets is, too.
  const unredacted: MemberTable = { ...complete, setValue: { access: 'write', beforeStart: 'allowed' } }
  // @ts-expect-error -- `emit` answers at once.
  const late: MemberTable = { ...complete, emit: write }
  // @ts-expect-error -- `getValue` answers by a promise.
  const early: MemberTable = { ...complete, getValue: { ...read, sync: true } }
  // @ts-expect-error -- `ThreadState` has no such member.
  const more: MemberTable = { ...complete, forget: write }
  expect([without, unwalled, unredacted, late, early, more]).toHaveLength(6)
})
