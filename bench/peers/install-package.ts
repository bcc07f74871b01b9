import { execFile } from 'node:child_process'
import { copyFile, cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

const BENCH = new URL('..', import.meta.url).pathname
/** In the bench, and where it is installed. */
export const PACKAGE = 'peers/package'
/** What the package's files import of the bench; it must need no packages. */
const SHARED = ['processes/answer-orders.ts', 'processor-time.ts']

interface NpmError extends Error {
  readonly stderr?: string
}

/** Its files lie in the folder as they do in the bench, below the packages that they need, as TypeScript and JavaScript. */
export async function installPackage(folder: string): Promise<void> {
  await cp(join(BENCH, PACKAGE), join(folder, PACKAGE), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
  for (const path of SHARED) await cp(join(BENCH, path), join(folder, path))
  await writeJavaScript(join(folder, PACKAGE))
  for (const name of ['package.json', 'package-lock.json'])
    await copyFile(join(BENCH, PACKAGE, name), join(folder, name))
  // None of these packages needs its install script here.
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await promisify(execFile)('npm', options, { cwd: folder }).catch((error: NpmError) => {
    const [said] = (error.stderr?.trim() || error.message).split('\n')
    throw new Error(
      `Expected npm to install the packages of bench/${PACKAGE}, got "${said}": ` +
        'see that "npm ping" reaches a registry that has them, then run the bench again.',
    )
  })
}

/** To strip the types is no part of a start. */
async function writeJavaScript(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
  for (const name of names) {
    const code = stripTypeScriptTypes(await readFile(join(folder, name), 'utf8'))
    await writeFile(join(folder, name.replace(/\.ts$/, '.js')), code)
  }
}
