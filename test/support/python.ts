import { execFileSync } from 'node:child_process'

const projectFolder = new URL('../..', import.meta.url)

/** The Python with the packages of test/python/requirements.txt; installs nothing. @throws a sentence if there is none */
export function locatePython(): string {
  const { EVERTHREAD_PYTHON: given } = process.env
  if (given) return given
  try {
    const path = execFileSync('./temporal-dev.sh', ['locate', 'python'], {
      cwd: projectFolder,
      encoding: 'utf8',
    })
    return path.trim()
  } catch {
    throw new Error('The Python packages of the tests are not installed yet: run ./temporal-dev.sh install')
  }
}
