/** Its trigger is due on a leap day: what fires it here is the command. */
export const manifest = `svc_version = 1

[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 29 2 *"
enabled = true
model = "svc-scripted-demo"
prompt = "Look around."

[[apps]]
slug = "site"
static_dir = "."

[[connectors]]
slug = "shop"
type = "http"
url = "http://127.0.0.1:9/api"
`
