import { expect, test } from 'vitest'

import { createRedactor } from '../variables/redactor.js'
import { createCallGate } from './call-gate.js'
import { createThreadState } from './members.js'
import type { ThreadStateParts } from './members.js'

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
const CONSTANT = ['getFileThumbnail', 'terminate']

/** Answers what it was given, whatever it is called. */
const echo = (...given: readonly unknown[]): unknown => given
const parts = new Proxy({}, { get: () => echo })

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
  const fakes = {
    messages: parts,
    values: parts,
    files: parts,
    variables: parts,
    effects: parts,
    definitions: parts,
    family: parts,
  }
  const state = createThreadState({
    ...{ gate: createCallGate('call c'), redactor, known, ...fakes },
    ...{ queueTool: echo, emit: echo, invokeTool: echo, terminate: echo },
  } as unknown as ThreadStateParts)
  for (const name of names.split(' ')) {
    const member: unknown = Reflect.get(state, name)
    if (typeof member !== 'function') throw new Error(`Expected ${name} to be a function.`)
    const got: unknown = await Reflect.apply(member, state, ['hush-hush', 'hush-hush', 'hush-hush'])
    if (name === 'setValue') continue
    expect([name, got]).toEqual([name, expected])
  }
  const named = [ALL, LABELS, NONE].flatMap((list) => list.split(' '))
  expect([...named, ...CONSTANT, ...Object.keys(known)].toSorted()).toEqual(Object.keys(state).toSorted())
})
