import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { servedFixture } from './client-fixture.js'
import { COMMAND_NAMES, giveCommand } from './live/commands.js'
import type { CommandName } from './live/commands.js'
import { signalsOf } from './signals.js'

const HOOKS = new URL('../store/processes/resolve-typescript.ts', import.meta.url).href
const KILLED = new URL('./live/killed-command.ts', import.meta.url).pathname

const fixture = servedFixture()

const CASES = COMMAND_NAMES.flatMap((command) => [[command, 'before'] as const, [command, 'after'] as const])

test.each(CASES)(
  'AR-CC.1 %s by a process that kill -9 ends %s it tells the workflow is carried out once',
  async (command, moment) => {
    const id = `${command}-${moment}`
    const thread = await fixture.threads.create({ agent: 'support', id })
    await giveKilled(id, command, moment)
    const rows = await rowsOf()
    expect(rows.commands).toHaveLength(1)
    const first = await giveCommand(thread.once('key'), command)
    expect(await giveCommand(thread.once('key'), command)).toEqual(first)
    expect(await rowsOf()).toEqual(rows)
    const signals = await signalsOf(thread)
    // The workflow takes equal ones once.
    expect(signals.length).toBeGreaterThan(moment === 'before' ? 0 : 1)
    expect(new Set(signals.map(([name, input]) => `${name} ${input}`)).size).toBe(1)
  },
)

async function giveKilled(id: string, command: CommandName, moment: 'before' | 'after'): Promise<void> {
  const { address, taskQueue, place } = fixture
  const given = JSON.stringify({ id, address, taskQueue, place, command, moment })
  const child = spawn(process.execPath, ['--import', HOOKS, KILLED, given], { stdio: 'inherit' })
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
}

async function rowsOf(): Promise<
  Readonly<Record<'commands' | 'messages' | 'variables', readonly unknown[]>>
> {
  const read = (table: 'commands' | 'messages' | 'variables') =>
    fixture.store.read((db) => db.selectFrom(table).selectAll().execute())
  return {
    commands: await read('commands'),
    messages: await read('messages'),
    variables: await read('variables'),
  }
}
