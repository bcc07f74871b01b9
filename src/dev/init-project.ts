import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { ConfigError } from '../protocol/errors.js'
import { readOwnPackage } from './own-package.js'
import { chooseProvider, projectFiles } from './project-template.js'
import type { Provider } from './project-template.js'

interface InitProject {
  /** A folder that is empty or does not exist. */
  readonly folder: string
  /** What npm shall install as everthread. @default the version that runs */
  readonly everthread: string | undefined
}

/** A project that was written. */
export interface WrittenProject {
  readonly folder: string
  readonly files: readonly string[]
  readonly provider: Provider
  /** The key of the provider is set. */
  readonly hasKey: boolean
}

/** Writes a new project. @throws ConfigError for a folder that has files, in which nothing is written */
export async function initProject({ folder, everthread }: InitProject): Promise<WrittenProject> {
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
export async function installPackages(cwd: string): Promise<void> {
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
