package safety

import (
	"encoding/base64"
	"strings"
)

// providerRules know tokens by their own prefix, which their providers document.
func providerRules() []secretRule {
	rules := cloudRules()
	rules = append(rules, codeRules()...)
	rules = append(rules, modelRules()...)
	return append(rules, serviceRules()...)
}

// cloudRules know the keys of clouds, hosts and databases.
func cloudRules() []secretRule {
	return []secretRule{
		shape("aws-key", `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia", "asia", "abia", "acca"),
		shape("aws-key", `ABSK[A-Za-z0-9+/]{60,}={0,2}`, "absk"),
		shape("aws-secret", `(?i)(?:aws[\w ]{0,20})?(?:secret|access)[\w ]{0,20}["']?\s*(?:=|:|：|is|是|为)\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)`, "aws", "secret", "access").in(1, mixed),
		shape("azure-key", `(?i)(?:account|sharedaccess)key=([A-Za-z0-9+/]{40,}={0,2})`, "accountkey=", "sharedaccesskey=").in(1, nil),
		shape("azure-sas", `(?i)sig=([A-Za-z0-9%+/=_-]{30,})`, "sig=").in(1, mixed),
		shape("azure-secret", `[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`, "q~").behind(4).in(0, mixed),
		shape("google-key", `AIza[0-9A-Za-z_-]{35}|GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{20,}`, "aiza", "gocspx-", "ya29."),
		shape("alibaba-key", `LTAI[A-Za-z0-9]{12,30}`, "ltai").in(0, mixed),
		shape("tencent-key", `AKID[A-Za-z0-9]{13,60}`, "akid").in(0, mixed),
		shape("digitalocean-token", `do[opr]_v1_[a-f0-9]{40,}`, "doo_v1_", "dop_v1_", "dor_v1_"),
		shape("cloudflare-key", `v1\.0-[a-f0-9]{20,}-[a-f0-9]{60,}|cf(?:ut|at|k)_[A-Za-z0-9]{30,}`, "v1.0-", "cfut_", "cfat_", "cfk_"),
		shape("heroku-key", `HRKU-[A-Za-z0-9_-]{30,}`, "hrku-"),
		shape("fly-token", `fo1_[\w-]{30,}|fm[12][ar]?_[A-Za-z0-9+/=_-]{40,}`, "fo1_", "fm1a_", "fm1r_", "fm2_"),
		shape("netlify-token", `nf[pc]_[A-Za-z0-9]{30,}`, "nfp_", "nfc_"),
		shape("vercel-token", `vc[pikar]_[A-Za-z0-9]{24,}`, "vcp_", "vci_", "vca_", "vcr_", "vck_"),
		shape("supabase-key", `sbp_[a-f0-9]{40}|sbp_v0_[a-f0-9]{30,}|sb_secret_[A-Za-z0-9_-]{20,}`, "sbp_", "sb_secret_"),
		shape("planetscale-key", `pscale_(?:tkn|pw|oauth)_[\w=.-]{30,}`, "pscale_"),
		shape("databricks-token", `dapi[a-f0-9]{32}(?:-\d)?\b`, "dapi"),
		shape("vault-token", `hv[sbr]\.[A-Za-z0-9_-]{20,}|s\.[A-Za-z0-9]{24}\b`, "hvs.", "hvb.", "hvr.", "s.").in(0, mixed),
		shape("terraform-token", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}`, ".atlasv1.").behind(14),
		shape("pulumi-token", `pul-[a-f0-9]{40}`, "pul-"),
		shape("doppler-token", `dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}`, "dp."),
		shape("age-key", `AGE-SECRET-KEY-1[A-Za-z0-9]{50,}`, "age-secret-key-1"),
		shape("age-key", `(?:AGE-PLUGIN-[A-Z]+-1)[A-Z0-9]{40,}`, "age-plugin-"),
	}
}

// codeRules know the tokens of what code is kept, built and shipped with.
func codeRules() []secretRule {
	return []secretRule{
		shape("github-token", `gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		shape("gitlab-token", `gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}|GR1348941[\w-]{20}`, "glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-", "glimt-", "gloas-", "glffct-", "gr1348941").in(0, mixed),
		shape("atlassian-token", `AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,}`, "atatt3", "atctt3", "atbb").in(0, mixed),
		shape("npm-token", `npm_[A-Za-z0-9]{36}\b`, "npm_"),
		shape("pypi-token", `pypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
		shape("docker-token", `dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}`, "dckr_"),
		shape("crates-token", `cio[A-Za-z0-9]{32}\b`, "cio").in(0, mixed),
		shape("rubygems-token", `rubygems_[a-f0-9]{40,}`, "rubygems_"),
		shape("nuget-key", `oy2[a-z0-9]{43}\b`, "oy2"),
		shape("jfrog-token", `AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{50,}`, "akcp", "cmvmd"),
		shape("sentry-token", `sntry[su]_[A-Za-z0-9_=+/-]{40,}`, "sntrys_", "sntryu_"),
		shape("sourcegraph-token", `sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}`, "sgp_"),
		shape("postman-key", `PMAK-[a-f0-9]{20,}-[a-f0-9]{30,}`, "pmak-"),
		shape("grafana-token", `glsa_[A-Za-z0-9]{30,}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}|eyJrIjoi[A-Za-z0-9=]{40,}`, "glsa_", "glc_", "eyjrijoi"),
		shape("newrelic-key", `NR(?:AK|JS|II|RA|IQ|SP)-[A-Za-z0-9-]{19,}|[a-f0-9]{36}NRAL\b`, "nrak-", "nrjs-", "nrii-", "nrra-", "nriq-", "nrsp-"),
		shape("newrelic-key", `\b[a-f0-9]{36}NRAL\b`, "nral").behind(36),
		shape("pagerduty-key", `pdus\+[\w+-]{20,}`, "pdus+"),
		shape("circleci-token", `CCI(?:PAT|PRJ)_[A-Za-z0-9_]{20,}`, "ccipat_", "cciprj_"),
		shape("figma-token", `fig[dou]r?_[A-Za-z0-9_-]{30,}`, "figd_", "figu_", "figo_", "figor_", "figur_").in(0, mixed),
	}
}

// modelRules know the keys of models' providers.
func modelRules() []secretRule {
	return []secretRule{
		shape("anthropic-key", `sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}`, "sk-ant-"),
		shape("openai-key", `sk-[A-Za-z0-9_-]{20,}`, "sk-").in(0, mixed),
		shape("huggingface-token", `(?:hf|api_org)_[A-Za-z0-9]{30,40}\b`, "hf_", "api_org_"),
		shape("groq-key", `gsk_[A-Za-z0-9]{30,}`, "gsk_"),
		shape("replicate-token", `r8_[A-Za-z0-9]{30,}`, "r8_"),
		shape("perplexity-key", `pplx-[A-Za-z0-9]{30,}`, "pplx-"),
		shape("xai-key", `xai-[A-Za-z0-9]{40,}`, "xai-"),
		shape("elevenlabs-key", `sk_[a-f0-9]{40,}`, "sk_"),
		shape("model-key", `(?:nvapi-|jina_|tvly-|lsv2_(?:pt|sk)_|pcsk_|fw_|tgp_v1_|csk-|e2b_|pa-|fc-|bce-v3/ALTAK-)[A-Za-z0-9_/-]{24,}`,
			"nvapi-", "jina_", "tvly-", "lsv2_", "pcsk_", "fw_", "tgp_v1_", "csk-", "e2b_", "pa-", "fc-", "bce-v3/").in(0, random),
	}
}

// serviceRules know the tokens of messengers, shops and offices.
func serviceRules() []secretRule {
	return []secretRule{
		shape("slack-token", `xox[abceoprs](?:\.xox[bp])?-(?:[0-9]-)?[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}`, "xox", "xapp-"),
		shape("telegram-token", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}`, ":aa").behind(10),
		shape("discord-token", `[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{18,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`, discordStarts()...),
		shape("discord-token", `mfa\.[A-Za-z0-9_-]{80,}`, "mfa."),
		shape("twilio-key", `SK[0-9a-f]{32}\b`, "sk"),
		shape("sendgrid-key", `SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`, "sg."),
		shape("sendinblue-key", `xkeysib-[a-f0-9]{40,}(?:-[A-Za-z0-9]{10,})?`, "xkeysib-"),
		shape("mailgun-key", `key-[0-9a-f]{32}\b`, "key-"),
		shape("mailchimp-key", `\b[0-9a-f]{32}-us[0-9]{1,2}\b`, "-us").behind(32),
		shape("stripe-key", `[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}`, "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_"),
		shape("square-token", `sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{40,}`, "sq0atp-", "sq0csp-", "sq0idp-", "eaaa").in(0, mixed),
		shape("paypal-token", `access_token\$(?:production|sandbox)\$[0-9a-z]{10,}\$[0-9a-f]{20,}`, "access_token$"),
		shape("shopify-token", `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, "shpat_", "shpca_", "shppa_", "shpss_"),
		shape("notion-token", `ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{40,}`, "ntn_", "secret_"),
		shape("linear-key", `lin_(?:api|oauth|wh)_[A-Za-z0-9]{30,}`, "lin_api_", "lin_oauth_", "lin_wh_"),
		shape("airtable-token", `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b`, "pat"),
		shape("hubspot-token", `pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f-]{27}`, "pat-"),
		shape("dropbox-token", `sl\.(?:u\.)?[A-Za-z0-9_-]{60,}`, "sl."),
		shape("facebook-token", `EAA[A-Za-z0-9]{80,}`, "eaa").in(0, mixed),
		shape("instagram-token", `IGQV[A-Za-z0-9_-]{60,}`, "igqv"),
		shape("jwt", `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{10,}){2}`, "eyj"),
	}
}

// discordStarts are the first four characters that a bot token can have: it
// begins with the base64 of its id, which is a row of digits.
func discordStarts() (starts []string) {
	const digits = "0123456789"
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				starts = append(starts, strings.ToLower(base64.StdEncoding.EncodeToString([]byte{byte(a), byte(b), byte(c)})))
			}
		}
	}
	return starts
}
