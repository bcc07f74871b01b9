import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The compiler's message for each mistake. */
const MISTAKES: Readonly<Record<string, string>> = {
  "prompt 'desk' uses the model 'chatt', which is not registered": `
    agents: [], prompts: [definePrompt({ ...desk, model: 'chatt' })]`,
  "prompt 'desk' lists the tool 'lookup_ordr', which is not registered": `
    agents: [], prompts: [definePrompt({ ...desk, tools: ['lookup_ordr'] })]`,
  "prompt 'desk' includes the prompt 'tne', which is not registered": `
    agents: [], prompts: [definePrompt({ ...desk, prompt: [{ type: 'include', prompt: 'tne' }] })]`,
  "agent 'support' uses the prompt 'dsk', which is not registered": `
    agents: [defineAgent({ name: 'support', sideA: { prompt: 'dsk' } })], prompts: [desk]`,
  "agent 'support' names the tool 'finsh', which is not registered": `
    agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk', sessionStop: { name: 'finsh' } } })], prompts: [desk]`,
  "agent 'support' names the tool 'tel', which is not registered": `
    agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk', statusTool: 'tel' } })], prompts: [desk]`,
  "agent 'support' lists the hook 'msk', which is not registered": `
    agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk' }, hooks: ['mask', 'msk'] })], prompts: [desk], hooks: [mask]`,
  "prompt 'desk' lists the hook 'mask', which is not registered": `
    agents: [], prompts: [definePrompt({ ...desk, hooks: ['mask'] })]`,
  "prompt 'desk' lists the tool 'rephrse', which is not registered": `
    agents: [], prompts: [definePrompt({ ...desk, tools: [{ name: 'rephrse', includeErrors: false }, 'desk'] })]`,
  "prompt 'desk' lists the tool 'billng', which is not registered": `
    agents: [billing], prompts: [definePrompt({ ...desk, tools: ['billng', { name: 'billing', initUserMessageProperty: 'x' }] })]`,
  "model 'small' falls back to the model 'chatt', which is not registered": `
    agents: [], prompts: [desk], models: [chat, defineModel({ name: 'small', provider, model: 'x', fallbacks: ['chatt', 'chat'] })]`,
}

test('the compiler names the definition and the unknown name', { timeout: 60_000 }, () => {
  const output = compile(Object.values(MISTAKES).map(sourceOf))
  for (const sentence of Object.keys(MISTAKES))
    expect(output).toContain(`not assignable to type '"${sentence}"'`)
})

function sourceOf(definitions: string): string {
  const door = `${root}src/index.js`
  return `import { defineAgent, defineHook, defineModel, definePrompt, registry } from '${door}'
declare const provider: import('${door}').LanguageModelProvider
const chat = defineModel({ name: 'chat', provider, model: 'x' })
const desk = definePrompt({ name: 'desk', toolDescription: 'Desk', prompt: '', model: 'chat' })
const mask = defineHook({ hook: 'after_create_message', id: 'mask', execute: () => undefined })
const billing = defineAgent({ name: 'billing', exposeAsTool: true, toolDescription: 'Bills', sideA: { prompt: 'desk' } })
export const checked = registry({ ${definitions.includes('models:') ? '' : 'models: [chat],'} tools: {}, ${definitions} })
`
}

function compile(sources: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'everthread-types-'))
  try {
    sources.forEach((source, index) => writeFileSync(join(folder, `mistake-${index}.ts`), source))
    const compilerOptions = { typeRoots: [join(root, 'node_modules/@types')], noUnusedLocals: false }
    const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
    return 'compiled'
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
