import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { AROUND } from './around.js'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The pages whose TypeScript is compiled: README and the guide. */
export const PAGES: readonly string[] = [
  'README.md',
  ...[
    ...[
      'ag-ui',
      'agent',
      'agents',
      'approvals',
      'asking-people',
      'browsers',
      'budgets',
      'commands',
      'costs',
      'effects',
      'events',
      'files',
      'fork',
      'hooks',
      'http',
      'http-client',
      'http-tools',
      'limits',
      'long-conversations',
      'mcp',
      'mcp-logins',
      'mcp-server',
      'models',
      'other-languages',
    ],
    ...[
      'own-workflows',
      'policy',
      'policy-in-use',
      'queue',
      'react',
      'subagents',
      'testing',
      'threads',
      'tool-progress',
      'tools',
      'use-chat',
      'variables',
      'webhooks',
      'workers',
      'workflow-tools',
    ],
  ].map((name) => `docs/guide/${name}.md`),
]

/** Files by their name: what the blocks of a page hold, with what the page leaves out around it. */
export type PageFiles = ReadonlyMap<string, string>

/**
 * The `ts` blocks of a page as files. A block whose first line is a comment `// name.ts` or `// name.ts: …` begins that file, or
 * goes on with it; a block without such a line goes on with the file of the block before.
 */
async function filesOf(page: string): Promise<PageFiles> {
  const text = await readFile(join(ROOT, page), 'utf8')
  const files = new Map<string, string[]>()
  let current: string | undefined
  for (const [, code = ''] of text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
    const [, named] = /^\/\/ ([\w.-]+\.ts)\b/.exec(code) ?? []
    current = named ?? current
    if (current === undefined)
      throw new Error(`${page}: expected the first ts block to name its file, "// agents.ts".`)
    files.set(current, [...(files.get(current) ?? []), code])
  }
  const around = AROUND[nameOf(page)] ?? {}
  for (const name of Object.keys(around)) if (!files.has(name)) files.set(name, [])
  return new Map(
    [...files].map(([name, blocks]) => {
      const { before = '', after = '' } = around[name] ?? {}
      return [name, [before, ...blocks, after].join('\n')]
    }),
  )
}

function nameOf(page: string): string {
  return basename(page, '.md')
}

/** Writes the files of a page into a folder of its own below the given one; answers that folder. */
export async function writePage(
  page: string,
  below: string,
  change = (code: string) => code,
): Promise<string> {
  const folder = join(below, nameOf(page))
  await rm(folder, { recursive: true, force: true })
  for (const [name, code] of await filesOf(page)) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, change(code))
  }
  return folder
}
