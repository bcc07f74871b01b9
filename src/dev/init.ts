import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import type { Command } from '../cli/terminal.js'
import { ConfigError } from '../protocol/errors.js'
import { readOwnPackage } from './own-package.js'
import { chooseProvider, projectFiles } from './project-template.js'

/** Writes a new project: an agent, a tool, a test, and what to do next. */
export const init: Command = {
  usage: '<folder> [--no-install] [--everthread SPEC]',
  summary:
    'write a new project with an agent, a tool and a test; SPEC: what npm installs as everthread, such as file:../everthread.tgz',
  arguments: ['folder'],
  flags: { 'no-install': 'boolean', everthread: 'string' },
  async run({ terminal }, { arguments: [folder = ''], flags }) {
    const { everthread } = flags
    const written = await initProject({
      folder,
      everthread: typeof everthread === 'string' ? everthread : undefined,
    })
    const { provider, hasKey } = written
    const model = hasKey
      ? `${provider.model} (${provider.key} is set)`
      : `${provider.model}, once ${provider.key} is set; until then a practice model answers`
    const place = relative(process.cwd(), written.folder)
    const enter = place === '' ? '' : `cd ${quoted(place)} && `
    terminal.line(`${written.folder}: ${written.files.join(', ')}. Model: ${model}.`)
    const install = flags['no-install'] !== true
    if (install) {
      terminal.line('Installing its packages with npm …')
      await installPackages(written.folder)
    }
    terminal.line(`Next: ${enter}${install ? '' : 'npm install && '}npm run dev`)
  },
}

/** A path as one word of a shell; plain ones as they are. */
function quoted(path: string): string {
  if (/^[\w./\\:][\w./\\:@+-]*$/.test(path)) return path
  if (process.platform === 'win32') return `"${path}"`
  const word = path.startsWith('-') ? `./${path}` : path
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

interface InitProject {
  /** A folder that is empty or does not exist. */
  readonly folder: string
  /** What npm shall install as everthread. @default the version that runs */
  readonly everthread: string | undefined
}

/** A project that was written. */
interface WrittenProject {
  readonly folder: string
  readonly files: readonly string[]
  readonly provider: ReturnType<typeof chooseProvider>
  /** The key of the provider is set. */
  readonly hasKey: boolean
}

/** Writes a new project. @throws ConfigError for a folder that has files, in which nothing is written */
async function initProject({ folder, everthread }: InitProject): Promise<WrittenProject> {
  const place = resolve(folder)
  await assertEmpty(place, folder)
  const provider = chooseProvider(process.env)
  const own = await readOwnPackage()
  const files = projectFiles({
    name: packageName(basename(place)),
    provider,
    own,
    everthread: everthread ?? `^${own.version}`,
  })
  await mkdir(place, { recursive: true })
  for (const [path, text] of Object.entries(files))
    // Never over a file that came meanwhile.
    await writeFile(join(place, path), text, { flag: 'wx' })
  return {
    folder: place,
    files: Object.keys(files),
    provider,
    hasKey: (process.env[provider.key] ?? '') !== '',
  }
}

/** A repository that has just been made counts as empty. */
async function assertEmpty(place: string, folder: string): Promise<void> {
  const entries = await readdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    const got = error.code === 'ENOTDIR' ? 'a file of that name' : (error.code ?? error.message)
    throw new ConfigError([
      `Expected "${folder}" to be an empty or a new folder, got ${got}: nothing was written. Give another name.`,
    ])
  })
  const found = entries.filter((entry) => entry !== '.git')
  if (found.length === 0) return
  const named = `${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`
  throw new ConfigError([
    `Expected "${folder}" to be an empty or a new folder, got one with ${named}: nothing was written. Give another name.`,
  ])
}

/** npm allows small letters, digits and a few signs. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'my-agent' : name
}

/** Runs `npm install` in a project. @throws an error of one sentence; the project is whole, and npm can be run again */
async function installPackages(cwd: string): Promise<void> {
  const npm = spawn('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    // npm is a script there.
    shell: process.platform === 'win32',
  })
  const code = await Promise.race([
    once(npm, 'exit').then(([exit]) => exit as unknown),
    once(npm, 'error').then(([error]) => (error as NodeJS.ErrnoException).code ?? 'an error'),
  ])
  if (code === 0) return
  throw new Error(
    `Expected npm install to succeed, got ${String(code)}, as shown above. The project in ${cwd} is whole: repeat npm install there.`,
  )
}
