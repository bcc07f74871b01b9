'use server'
import { cookies } from 'next/headers'
import { redirect } from 'next/navigation'

import { COOKIE, logIn, userOf } from '../lib/login.ts'
import { AGENT, threads } from '../lib/threads.ts'

const SECURE = { httpOnly: true, secure: true, sameSite: 'lax', path: '/', maxAge: 86_400 } as const

export async function enter(form: FormData): Promise<void> {
  const [user, password] = [form.get('user'), form.get('password')]
  const cookie = typeof user === 'string' && typeof password === 'string' ? logIn(user, password) : undefined
  if (cookie !== undefined) (await cookies()).set(COOKIE, cookie, SECURE)
  redirect(cookie === undefined ? '/?wrong' : '/')
}

export async function begin(): Promise<void> {
  const user = userOf((await cookies()).get(COOKIE)?.value)
  if (user === undefined) redirect('/')
  const { threadId } = await threads.create({ agent: AGENT, userId: user })
  redirect(`/chat/${threadId}`)
}
