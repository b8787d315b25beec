//! Keys, region and endpoint of a profile, from `~/.aws/config` and `~/.aws/credentials`, the files of AWS's own programs. A file has sections
//! (`[default]`, `[profile NAME]`; in the credentials file `[NAME]`) of lines `KEY = VALUE` or `KEY: VALUE`, comments after `#` or `;`, and deeper
//! indented lines, which belong to the key above. A profile whose keys come from a server or a program is an error. No message shows a value.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use object_store::aws::AwsCredential;

use trimill_system::{Error, Result};

/// Settings of a profile that name another source of its credentials.
const SOURCES: [&str; 6] =
    ["role_arn", "web_identity_token_file", "sso_session", "sso_start_url", "login_session", "credential_process"];

/// A section's values by lower-case key; those of an indented line by both keys, joined with a dot.
type SectionValues = HashMap<String, String>;

#[derive(Default)]
struct AwsFile {
    path: PathBuf,
    sections: HashMap<String, SectionValues>,
}

/// A profile in both files; either may lack it.
pub(super) struct AwsProfile {
    name: String,
    config: AwsFile,
    credentials: AwsFile,
}

impl AwsProfile {
    /// The profile of the environment. Errors: an unreadable or malformed file; a name that neither file has.
    pub(super) fn read() -> Result<Self> {
        Self::of(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let file = |named: &str, usual: &str| {
            let usual = || Some(PathBuf::from(variable("HOME")?).join(".aws").join(usual));
            variable(named).map(PathBuf::from).or_else(usual).map_or_else(|| Ok(AwsFile::default()), AwsFile::read)
        };
        let config = file("AWS_CONFIG_FILE", "config")?;
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials")?;
        let named = variable("AWS_PROFILE").map(|name| name.to_string_lossy().into_owned());
        let profile = Self { name: named.clone().unwrap_or_else(|| "default".into()), config, credentials };
        if named.is_some() && profile.sections().all(|section| section.is_none()) {
            let [config, credentials] = [&profile.config.path, &profile.credentials.path].map(|path| path.display());
            return Err(Error::usage(format!("the profile '{}', which AWS_PROFILE names", profile.name))
                .expected(format!("a section of that name in {config} or {credentials}")));
        }
        Ok(profile)
    }

    /// Its sections; the first one with a value counts.
    fn sections(&self) -> impl Iterator<Item = Option<&SectionValues>> {
        let name = &self.name;
        let bare = self.config.sections.get(name).filter(|_| name == "default");
        [self.credentials.sections.get(name), self.config.sections.get(&format!("profile {name}")).or(bare)].into_iter()
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.sections().flatten().find_map(|section| section.get(key)).map(String::as_str)
    }

    /// The server's address; a section that the profile names may have one for S3 alone.
    pub(super) fn endpoint(&self) -> Option<&str> {
        let services = self.get("services").and_then(|name| self.config.sections.get(&format!("services {name}")));
        let of_s3 = services.and_then(|services| services.get("s3.endpoint_url"));
        of_s3.map(String::as_str).or_else(|| self.get("endpoint_url"))
    }

    /// Its access keys, if any. Errors: they come from another source, or only one of the two is set.
    pub(super) fn keys(&self) -> Result<Option<AwsCredential>> {
        let has_keys = |section: &&SectionValues| section.contains_key("aws_access_key_id");
        let found = self.sections().flatten().find(has_keys);
        // AWS's programs prefer other sources to keys in the file, except for programs that print keys.
        let source =
            SOURCES.iter().find(|&&key| self.get(key).is_some() && (key != "credential_process" || found.is_none()));
        if let Some(source) = source {
            return Err(Error::usage(format!("the profile '{}', whose keys come from elsewhere ({source})", self.name))
                .at(&self.config.path)
                .expected("aws_access_key_id and aws_secret_access_key, or the variables of these names")
                .advice(format!("set what `aws configure export-credentials --profile {} --format env` prints; for a bucket that everybody may read, AWS_SKIP_SIGNATURE=true", self.name)));
        }
        let Some(found) = found else { return Ok(None) };
        let value = |key: &str| found.get(key).filter(|value| !value.is_empty()).cloned();
        let (Some(key_id), Some(secret_key)) = (value("aws_access_key_id"), value("aws_secret_access_key")) else {
            let file = if self.credentials.sections.get(&self.name).is_some_and(|section| has_keys(&section)) {
                &self.credentials
            } else {
                &self.config
            };
            return Err(Error::data(&file.path, format!("the profile '{}' has one key", self.name))
                .expected("aws_access_key_id and aws_secret_access_key"));
        };
        Ok(Some(AwsCredential { key_id, secret_key, token: value("aws_session_token") }))
    }
}

impl AwsFile {
    /// A missing file, and what is no file, such as /dev/null, has no sections.
    fn read(path: PathBuf) -> Result<Self> {
        // A shell would have replaced the `~`.
        let path = match (path.strip_prefix("~"), std::env::var_os("HOME")) {
            (Ok(below), Some(home)) => Path::new(&home).join(below),
            _ => path,
        };
        if !path.is_file() {
            return Ok(Self { path, ..Self::default() });
        }
        let bytes = std::fs::read(&path).map_err(|error| Error::read(&path, error))?;
        let sections = sections(&bytes).map_err(|(line, found)| {
            Error::data(&path, found)
                .at_line(line)
                .expected("[SECTION] or KEY = VALUE, as the programs of AWS write this file")
        })?;
        Ok(Self { path, sections })
    }
}

/// The sections of a file; or the number of a line and what is wrong with it.
fn sections(bytes: &[u8]) -> Result<HashMap<String, SectionValues>, (u64, &'static str)> {
    let (mut sections, mut name) = (HashMap::<_, SectionValues>::new(), None);
    // The key above, and its indentation.
    let mut above: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(line).map_err(|_| (number, "a line that is not UTF-8"))?;
        let text = uncommented(line.trim_start_matches('\u{feff}'));
        let content = text.trim_start();
        if content.is_empty() {
            continue;
        }
        let indentation = text.len() - content.len();
        let parent = above.as_ref().filter(|(of_key, _)| indentation > *of_key);
        if let Some(section) = content.strip_prefix('[').filter(|_| parent.is_none()) {
            let (section, _) = section.split_once(']').ok_or((number, "a section without an end"))?;
            let words = section.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            let section = words.collect::<Vec<_>>().join(" ");
            sections.entry(section.clone()).or_default();
            (name, above) = (Some(section), None);
            continue;
        }
        let values =
            name.as_ref().and_then(|name| sections.get_mut(name)).ok_or((number, "a line before the first section"))?;
        let pair = content.split_once(['=', ':']);
        match (pair.map(|(key, value)| (key.trim().to_lowercase(), value.trim().to_owned())), parent) {
            (Some((key, value)), Some((_, parent))) => drop(values.insert(format!("{parent}.{key}"), value)),
            (None, Some(_)) => {}
            (Some((key, value)), None) if !key.is_empty() => {
                values.insert(key.clone(), value);
                above = Some((indentation, key));
            }
            _ => return Err((number, "a line that is neither a section nor a value")),
        }
    }
    Ok(sections)
}

/// A line without its comment, which begins the line or follows a blank.
fn uncommented(line: &str) -> &str {
    let starts = |at: usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    let end = line.match_indices(['#', ';']).map(|(at, _)| at).find(|&at| starts(at));
    line[..end.unwrap_or(line.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "# of a user\n[default]\nregion = eu-west-1 ; near\nAWS_ACCESS_KEY_ID=inconfig\naws_secret_access_key=s\n\n\
        [profile work]\r\nregion=us-west-2\r\nservices = here\ns3 =\n  addressing_style = path\n  region = wrong\nendpoint_url = http://all\n\
        [profile \"two words\"]\nendpoint_url = http://two#x\n[services here]\ns3 =\n    endpoint_url = http://s3\n\
        [profile sso]\nsso_session = x\naws_access_key_id = a\naws_secret_access_key = b\n[profile run]\ncredential_process = /bin/x\n\
        [profile both]\ncredential_process = /bin/x\n[work]\nregion = not-a-profile\n\
        [profile indented]\n  region: eu-north-1\n  s3 =\n    region = wrong\n  endpoint_url: http://in:1?x=2\n\
        \x20 aws_access_key_id = i\n  aws_secret_access_key = j=:k\n  [profile next]\n  region = wrong\n";
    const CREDENTIALS: &str = "[default]\naws_access_key_id = first\naws_secret_access_key = a/+=b\naws_session_token = t\n[half]\n\
        aws_access_key_id = h\n[both]\naws_access_key_id = b\naws_secret_access_key = c\nregion = of-both\n";

    fn written(config: &[u8], credentials: &[u8]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".aws")).unwrap();
        std::fs::write(home.path().join(".aws/config"), config).unwrap();
        std::fs::write(home.path().join("creds"), credentials).unwrap();
        home
    }

    fn profile(home: &Path, name: Option<&str>) -> Result<AwsProfile> {
        AwsProfile::of(|variable| match variable {
            "HOME" => Some(home.into()),
            "AWS_SHARED_CREDENTIALS_FILE" => Some(home.join("creds").into()),
            "AWS_PROFILE" => name.map(Into::into),
            _ => None,
        })
    }

    #[test]
    fn a_profile_is_what_both_files_say() {
        let home = written(CONFIG.as_bytes(), CREDENTIALS.as_bytes());
        for (name, region, endpoint, keys) in [
            (None, Some("eu-west-1"), None, Some(("first", "a/+=b", Some("t")))),
            (Some("default"), Some("eu-west-1"), None, Some(("first", "a/+=b", Some("t")))),
            (Some("work"), Some("us-west-2"), Some("http://s3"), None),
            (Some("two words"), None, Some("http://two#x"), None),
            (Some("both"), Some("of-both"), None, Some(("b", "c", None))),
            (Some("indented"), Some("eu-north-1"), Some("http://in:1?x=2"), Some(("i", "j=:k", None))),
        ] {
            let profile = profile(home.path(), name).unwrap();
            let found = profile.keys().unwrap();
            let found = found.as_ref().map(|keys| (&*keys.key_id, &*keys.secret_key, keys.token.as_deref()));
            assert_eq!((profile.get("region"), profile.endpoint(), found), (region, endpoint, keys), "{name:?}");
        }
        std::fs::remove_file(home.path().join("creds")).unwrap();
        let keys = profile(home.path(), None).unwrap().keys().unwrap().unwrap();
        assert_eq!((&*keys.key_id, keys.token), ("inconfig", None));
        let nothing = AwsProfile::of(|_| None).unwrap();
        assert!(nothing.keys().unwrap().is_none() && nothing.get("region").is_none());
    }

    #[test]
    fn a_profile_that_gives_no_keys_is_refused() {
        let home = written(CONFIG.as_bytes(), CREDENTIALS.as_bytes());
        for (name, said) in [
            ("sso", "config: the profile 'sso', whose keys come from elsewhere (sso_session)"),
            ("run", "`aws configure export-credentials --profile run --format env`"),
            ("half", "creds: the profile 'half' has one key"),
            ("nobody", "the profile 'nobody', which AWS_PROFILE names; expected a section of that name in "),
        ] {
            let error = profile(home.path(), Some(name)).and_then(|profile| profile.keys()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_malformed_is_refused_by_its_line_without_its_values() {
        let neither = "config:3: a line that is neither a section nor a value; expected [SECTION]";
        for (text, said) in [
            (&b"[default]\n\nsecret\n"[..], neither),
            (b"[default]\n= secret\n", "config:2: a line that is neither"),
            (b"  secret = 1\n", "config:1: a line before the first section"),
            (b"[default]\n[secret\n", "config:2: a section without an end"),
            (b"[default]\nsecret = \xff\n", "config:2: a line that is not UTF-8"),
        ] {
            let error = profile(written(text, b"").path(), None).err().unwrap().to_string();
            assert!(error.contains(said) && !error.contains("secret"), "{error}");
        }
    }
}
