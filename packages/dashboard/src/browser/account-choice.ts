/** The account that a user with several accounts chose; stored in this browser. */
import type { operations } from '@svc/contract/api'

type Me = operations['getMe']['responses'][200]['content']['application/json']

const key = 'svc-account'

export const chosenAccountId = () => localStorage.getItem(key)

/** `account` becomes the chosen one if the user still belongs to it. */
export function withChosenAccount(me: Me): Me {
  const chosen = me.accounts.find(({ account_id }) => account_id === chosenAccountId())
  return chosen === undefined ? me : { ...me, account: chosen }
}

export function chooseAccount(accountId: string): void {
  localStorage.setItem(key, accountId)
}
