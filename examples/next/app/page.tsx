import { cookies } from 'next/headers'

import { COOKIE, userOf } from '../lib/login.ts'
import { begin, enter } from './actions.ts'

interface Props {
  readonly searchParams: Promise<{ readonly wrong?: string }>
}

export default async function Page({ searchParams }: Props) {
  if (userOf((await cookies()).get(COOKIE)?.value) !== undefined)
    return (
      <form action={begin}>
        <button>New chat</button>
      </form>
    )
  const { wrong } = await searchParams
  return (
    <form action={enter}>
      {wrong !== undefined && <p role="alert">The name or the password is wrong.</p>}
      <input name="user" required aria-label="Name" />
      <input name="password" type="password" required aria-label="Password" />
      <button>Log in</button>
    </form>
  )
}
