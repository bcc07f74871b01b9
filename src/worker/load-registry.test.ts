import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { loadRegistry } from './load-registry.js'

const SOUND = {
  'agents/support.js': `export default { name: 'support', sideA: { prompt: 'desk', stopTool: 'look_up' }, hooks: ['mask'] }`,
  'prompts/desk.mjs': `export default { name: 'desk', toolDescription: 'Desk', prompt: 'Help.', model: 'chat', includeChat: true, tools: ['look_up'] }`,
  'models/chat.js': `export default { name: 'chat', provider: { languageModel: () => undefined }, model: 'large' }`,
  'tools/look_up.ts': `const description: string = 'Looks up.'
export default { description, execute: () => ({ status: 'success' }) }`,
  'hooks/masking.js': `export default { hook: 'after_create_message', id: 'mask', execute: () => undefined }`,
  'effects/remind.js': `export default { description: 'Reminds.', execute: () => undefined }`,
}

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-folder-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

async function problemsOf(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  try {
    await loadRegistry(await folderOf(files))
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

test('a folder of the specification is a registry', async () => {
  const folder = await folderOf(SOUND)
  for (const registry of [await loadRegistry(folder), await loadRegistry(pathToFileURL(`${folder}/`))]) {
    expect(registry.names()).toEqual({
      agents: ['support'],
      prompts: ['desk'],
      models: ['chat'],
      tools: ['look_up'],
      hooks: ['mask'],
      effects: ['remind'],
    })
    expect(registry.tool('look_up')?.description).toBe('Looks up.')
    expect(registry.warnings).toEqual([])
  }
})

test('an agent of a folder can be in the short form', async () => {
  const agent = `import { agent } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)}
export default agent({ name: 'helper', model: 'chat', instructions: 'Help.' })`
  const registry = await loadRegistry(await folderOf({ ...SOUND, 'agents/helper.js': agent }))
  expect(registry.names()).toMatchObject({
    agents: ['helper', 'support'],
    prompts: ['desk', 'helper_prompt'],
  })
})

test('what is no definition is passed over', async () => {
  const others = [
    'tools/look_up.d.ts',
    'tools/look_up.test.js',
    'tools/.hidden.js',
    'tools/notes.md',
    'tools/nested/deep.js',
    'providers/own.js',
    'api/status.get.js',
    'index.js',
  ]
  const throwing = `throw new Error('must not be imported')`
  const folder = await folderOf({ ...SOUND, ...Object.fromEntries(others.map((path) => [path, throwing])) })
  const registry = await loadRegistry(folder)
  expect(registry.names().tools).toEqual(['look_up'])
  expect(registry.warnings).toEqual([
    'api/ is ignored here: loadThreadEndpoints of everthread/server reads it',
  ])
})

test('the folder around the layout is refused, not empty', async () => {
  const outer = await folderOf(
    Object.fromEntries(Object.entries(SOUND).map(([path, text]) => [`agents/${path}`, text])),
  )
  await expect(loadRegistry(outer)).rejects.toThrowError(`got none: did you mean ${join(outer, 'agents')}?`)
  await mkdir(join(outer, 'empty', 'agents'), { recursive: true })
  await expect(loadRegistry(join(outer, 'empty'))).rejects.toThrowError(/Expected definitions, .+ got none$/)
})

test('a name that is not that of its file gives a warning', async () => {
  const { 'agents/support.js': support, ...others } = SOUND
  const registry = await loadRegistry(await folderOf({ ...others, 'agents/help.js': support }))
  expect(registry.warnings).toEqual(["agents/help.js has the agent 'support', not 'help'"])
})

test('everything wrong with the files is reported at once', async () => {
  const files = {
    ...SOUND,
    'agents/empty.js': 'export const agent = 1',
    'agents/nameless.js': 'export default { sideA: {} }',
    'prompts/desk.mjs': `throw new Error('no key')`,
    'prompts/chat.js': SOUND['models/chat.js'],
    'models/maker.js': 'export default () => 1',
    'tools/look_up.js': `export default { description: '', execute: 1 }`,
    'tools/list.js': 'export default []',
    'hooks/none.js': 'export default null',
    'effects/remind.js': 'export default {',
  }
  expect(await problemsOf(files)).toEqual([
    'agents/empty.js: expected an agent as default export, got none',
    'agents/nameless.js: expected an agent as default export, got one without name',
    'prompts/chat.js: expected a prompt as default export, got a model',
    'prompts/desk.mjs cannot be imported: no key',
    'models/maker.js: expected a model as default export, got a function',
    'tools/list.js: expected a tool as default export, got an object without execute',
    "tools/look_up.ts: expected one file a name, got another of 'look_up'",
    'hooks/none.js: expected a hook as default export, got null',
    expect.stringMatching(/^effects\/remind\.js cannot be imported: /),
  ])
})

test('a file that cannot be read hides no other problem', async () => {
  const files = {
    'agents/support.js': `export default { name: 'support', sideA: { prompt: 'desk', stopTool: 'look_up', maxSteps: 0 } }`,
    'prompts/desk.js': `export default { name: 'desk', toolDescription: 'Desk', prompt: '', model: 'chatt', tools: ['look_up'] }`,
    'tools/look_up.js': `throw new Error('no key')`,
  }
  expect(await problemsOf(files)).toEqual([
    'tools/look_up.js cannot be imported: no key',
    "agent 'support': sideA.maxSteps: Too small: expected a number to be >0, got 0",
    "prompt 'desk' uses the model 'chatt', which is not registered",
  ])
})

test('definitions of a folder are checked as those of a registry', async () => {
  expect(
    await problemsOf({ ...SOUND, 'hooks/masking.js': SOUND['hooks/masking.js'].replace('mask', 'msk') }),
  ).toEqual(["agent 'support' lists the hook 'mask', which is not registered: did you mean 'msk'?"])
})

test('a folder without definitions is refused', async () => {
  const folder = await folderOf({ 'agents.js': '' })
  await expect(loadRegistry(folder)).rejects.toThrowError(
    new ConfigError([
      `Expected folders of definitions (agents/, prompts/, models/, tools/, hooks/, effects/) in ${folder}, got none`,
    ]),
  )
  await expect(loadRegistry(join(folder, 'nowhere'))).rejects.toThrowError(/got none/)
})
