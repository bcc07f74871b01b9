import { expect, test } from 'vitest'
import { LIMITS } from '../../protocol/limits.js'
import { boundedId, createCallGate, createJournal } from './journal.js'
import type { BufferedWrite } from './journal.js'

/** These writes reach no database. */
const tx = undefined as never
const terminate: BufferedWrite = async () => ({ operations: [{ kind: 'terminate' }] })
const setEnv: BufferedWrite = async () => ({ operations: [{ kind: 'set_env' }] })

test('J1 a commit runs the writes one after another in their order, and again after a rollback', async () => {
  const journal = createJournal(createCallGate('call c'))
  const log: string[] = []
  journal.add(async (...given) => {
    log.push('first begins')
    await Promise.resolve()
    log.push('first ends')
    return terminate(...given)
  })
  journal.add(async (...given) => {
    log.push('second')
    return setEnv(...given)
  })
  for (const attempt of [1, 2]) {
    const { operations } = await journal.commit(tx, new Map())
    expect([attempt, operations]).toEqual([attempt, [{ kind: 'terminate' }, { kind: 'set_env' }]])
  }
  const commit = ['first begins', 'first ends', 'second']
  expect(log).toEqual([...commit, ...commit])
})

test('J2 a write after the end of the call is refused and does not reach the commit', async () => {
  const gate = createCallGate('call c')
  const journal = createJournal(gate)
  journal.add(setEnv)
  gate.close()
  expect(() => journal.add(terminate)).toThrow('The call c has ended')
  const { operations } = await journal.commit(tx, new Map())
  expect(operations).toEqual([{ kind: 'set_env' }])
})

test('J3 an id that is too long for the queue has the same digest in each attempt', () => {
  const long = 'é'.repeat(LIMITS.messageIdLength)
  const id = boundedId(long)
  expect(id).toBe(boundedId(long))
  expect(id).not.toBe(boundedId(`${long}1`))
  expect(id.length).toBeLessThan(LIMITS.messageIdLength)
  expect(boundedId('call_1_2_0')).toBe('call_1_2_0')
})
