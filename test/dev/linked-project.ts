/** Projects as `everthread init` writes them, beside the built package: `npm run build` makes it. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))
export const COMMAND = join(PACKAGE, 'dist/cli/everthread.js')

/** An empty folder. */
export async function makeFolder(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-dev-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

interface Ended {
  readonly code: number
  readonly output: string
}

/** Runs a program to its end. */
export async function run(cwd: string, line: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const options = { cwd, env: { ...process.env, OPENAI_API_KEY: '', ...env } }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...line], options)
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as {
      readonly code: number
      readonly stdout: string
      readonly stderr: string
    }
    return { code, output: stdout + stderr }
  }
}

/** Writes a project without npm, and links the packages that it names. */
export async function initLinked(parent: string, name: string): Promise<string> {
  if (!existsSync(COMMAND)) throw new Error('Expected a build in dist: npm run build')
  const { code, output } = await run(parent, [COMMAND, 'init', name, '--no-install'])
  if (code !== 0) throw new Error(output)
  const project = join(parent, name)
  await link(project, 'everthread', PACKAGE)
  for (const peer of ['activity', 'client', 'common', 'testing', 'worker', 'workflow'])
    await link(project, `@temporalio/${peer}`)
  for (const other of ['@ai-sdk/openai', '@types/node', 'zod']) await link(project, other)
  return project
}

/**
 * Packs this package as npm publishes it, and unpacks it into `node_modules` of a folder, beside the packages that it needs, which are linked: nothing is
 * downloaded. Returns the path of its command.
 */
export async function installPacked(folder: string): Promise<string> {
  if (!existsSync(COMMAND)) throw new Error('Expected a build in dist: npm run build')
  const program = promisify(execFile)
  await program('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${folder}`], {
    cwd: PACKAGE,
  })
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  const installed = join(folder, 'node_modules/everthread')
  await mkdir(installed, { recursive: true })
  await program('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', installed])
  for (const entry of await readdir(join(PACKAGE, 'node_modules'))) {
    if (entry.startsWith('.') || entry === 'everthread') continue
    const inner = entry.startsWith('@') ? await readdir(join(PACKAGE, 'node_modules', entry)) : ['']
    for (const name of inner) await link(folder, join(entry, name))
  }
  return join(installed, 'dist/cli/everthread.js')
}

/** Links a package into the folder of a project. */
export async function link(
  project: string,
  name: string,
  to = join(PACKAGE, 'node_modules', name),
): Promise<void> {
  const place = join(project, 'node_modules', name)
  await mkdir(dirname(place), { recursive: true })
  await symlink(to, place)
}
