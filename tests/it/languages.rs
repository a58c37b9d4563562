//! Other languages: whole, with the same placeholders, read and written in their own way; and languages that nobody speaks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use kvscope::core::engines;
use kvscope::core::import::hf_config::import;
use kvscope::core::import::sentences::Key;
use kvscope::core::model::Message;
use kvscope::core::predict::answer::{Dimension, Unit, parse_answer};
use kvscope::core::predict::judge::Verdict;
use kvscope::core::predict::{Question, SLIPS, Situation, judge};
use kvscope::core::price;
use kvscope::core::report::{Assumption, report};
use kvscope::core::scenario::{EngineKind, Scenario};
use kvscope::core::speed::SpeedConstants;
use kvscope::core::templates;
use kvscope::core::units::Bytes;
use kvscope::view::concept::{Block, sections};
use kvscope::view::fleet::{setting, sources};
use kvscope::view::notes;
use kvscope::view::predict::Words;
use kvscope::view::sentence;
use kvscope::view::text::concept::ConceptWords;
use kvscope::view::text::predict::PredictWords;
use kvscope::view::text::pseudo::Pseudo;
use kvscope::view::text::{
    ENGLISH, LANGUAGES, Messages, Piece, PredictText, direction, exports, fill, pieces,
    placeholders, zh,
};

/// Every sentence of a language by its name, all tables.
fn sentences(
    messages: &Messages,
    predict: &PredictWords,
    concept: &ConceptWords,
) -> BTreeMap<String, String> {
    let mut res = BTreeMap::new();
    messages.clone().for_each(&mut |group, name, text| {
        res.insert(format!("{group}.{name}"), text.clone().into_owned());
    });
    predict.clone().for_each(&mut |name, text| {
        res.insert(format!("predict.{name}"), text.clone().into_owned());
    });
    concept.clone().for_each(&mut |name, text| {
        res.insert(format!("concept.{name}"), text.clone().into_owned());
    });
    res
}

fn english() -> BTreeMap<String, String> {
    sentences(&ENGLISH, &PredictWords::ENGLISH, &ConceptWords::ENGLISH)
}

fn chinese() -> BTreeMap<String, String> {
    sentences(&zh::MESSAGES, &zh::PREDICT, &zh::CONCEPT)
}

#[track_caller]
fn has_the_same_placeholders(language: &BTreeMap<String, String>) {
    for (name, english) in english() {
        let text = &language[&name];
        assert_eq!(placeholders(text), placeholders(&english), "{name}: {text}");
    }
}

#[test]
fn placeholders_agree() {
    has_the_same_placeholders(&chinese());
    for pseudo in Pseudo::ALL {
        let language = sentences(&pseudo.messages(), &pseudo.predict(), &pseudo.concept());
        has_the_same_placeholders(&language);
    }
}

/// A template with sevens for its values.
fn with_sevens(template: &str) -> String {
    let names = placeholders(template);
    let values: Vec<_> = names.into_iter().map(|name| (name, "7")).collect();
    fill(template, &values)
}

/// Whether there are two Latin words in a row, as in a sentence that was not translated.
fn has_latin_words(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        3 <= word.len() && word.chars().all(|c| c.is_ascii_lowercase())
    };
    let words: Vec<&str> = text
        .split([' ', '（', '）', '，', '。', '：', '、'])
        .collect();
    words
        .windows(2)
        .any(|pair| pair.iter().all(|word| is_word(word)))
}

/// Names and signs that are the same in Chinese.
const SAME: &[&str] = &[
    "charts.tokens",
    "fields.engine_llama_cpp",
    "fields.flash_attn",
    "fields.k_and_v",
    "fields.unit_tokens",
    "charts.hbm_data_parallel",
    "charts.hbm_pipeline_parallel",
    "charts.hbm_tensor_parallel",
    "fields.element_bits",
    "fields.element_bytes",
    "fields.engine_sglang",
    "fields.engine_tensorrt_llm",
    "fields.gpu",
    "files.device_short",
    "fleet.fit_split_both",
    "fleet.fit_split_tensor",
    "fleet.serve_policy_llama_cpp",
    "fleet.serve_policy_sglang",
    "fleet.serve_policy_vllm",
    "panels.download_csv",
    "panels.download_png",
    "panels.download_svg",
    "page.kind_gqa",
    "page.kind_mha",
    "page.kind_mla",
    "page.kind_mqa",
    "page.model_summary",
    "predict.units_of_bytes",
];

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// What is wrong with a Chinese sentence.
fn flaw(name: &str, text: &str, english: &str) -> Option<&'static str> {
    let is_latin = |text: &str| with_sevens(text).chars().any(|c| c.is_ascii_alphabetic());
    let is_same = SAME.contains(&name) || name.starts_with("units.") || name == ".lang";
    if is_latin(english) && !is_same && !text.chars().any(is_han) {
        return Some("not translated");
    }
    if text.contains("  ") || text.trim() != text {
        return Some("stray spaces");
    }
    // What a reader may type is a list, as in English.
    if name.starts_with("predict.words_") {
        return None;
    }
    if has_latin_words(&with_sevens(text)) {
        return Some("Latin words");
    }
    let chars: Vec<char> = with_sevens(text).chars().collect();
    let has_narrow_mark = chars.windows(2).any(|pair| {
        let before_han = matches!(pair[0], ',' | '.' | ':' | ';' | '?' | '!' | '(' | ')');
        let after_han = matches!(pair[1], ',' | ':' | ';' | '!');
        (before_han && is_han(pair[1])) || (is_han(pair[0]) && after_han)
    });
    has_narrow_mark.then_some("narrow punctuation")
}

#[test]
fn chinese_is_chinese() {
    let english = english();
    let flaws: Vec<String> = chinese()
        .iter()
        .filter_map(|(name, text)| {
            let flaw = flaw(name, text, &english[name])?;
            Some(format!("{name}: {flaw}: {text}"))
        })
        .collect();
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

/// A sentence of the importer in Chinese has all its values, and no words that were left English.
#[track_caller]
pub(crate) fn check_in_chinese(message: &Message) {
    let (english, chinese) = (message.to_string(), zh::MESSAGES.message(message));
    assert!(chinese.chars().any(is_han), "not translated: {chinese}");
    for text in [&english, &chinese] {
        let unfilled = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .find(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert_eq!(unfilled, None, "{text}");
    }
    for words in english_words() {
        assert!(!chinese.contains(words), "\"{words}\" is left: {chinese}");
    }
}

/// What stands between the values of the importer's English sentences, where it is more than one word.
fn english_words() -> &'static [&'static str] {
    static WORDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let key = |key: &Key| {
            ENGLISH
                .import
                .get(key.name())
                .expect("each has its English")
        };
        let templates: Vec<&'static str> = Key::ALL.iter().map(key).collect();
        let words = templates
            .into_iter()
            .flat_map(pieces)
            .filter_map(|piece| match piece {
                Piece::Words(words) => Some(words.trim()),
                Piece::Value(_) | Piece::Plural(..) => None,
            });
        words
            .filter(|words| words.contains(' ') && words.chars().any(|c| c.is_ascii_lowercase()))
            .collect()
    })
}

#[test]
fn notes_of_published_models_in_chinese() {
    let mut count = 0;
    for file in std::fs::read_dir("tests/data/configs").expect("the folder is there") {
        let path = file.expect("it can be listed").path();
        let text = std::fs::read_to_string(path).expect("it can be read");
        // One of them is no text that can be read as a model; errors have tests of their own.
        let notes = import(&text, None).map_or_else(|_| Vec::new(), |model| model.notes);
        count += notes.len();
        notes
            .iter()
            .for_each(|note| check_in_chinese(&note.message));
    }
    assert!(50 < count, "{count} notes");
}

#[test]
fn the_default_in_chinese() {
    let scenario = Scenario::default();
    let report = report(&scenario);
    let lede: Vec<String> = sentence::lede(&scenario, &report, &zh::MESSAGES)
        .iter()
        .map(sentence::Sentence::text)
        .collect();
    assert_eq!(
        lede,
        [
            "一个请求预填充 512 个提示词 token，思考 4,000 个，回答 300 个。它的 KV 缓存最后有 4,812 个 token，在 Llama 3.1 70B 上以 bf16 存储，占 4 × H100 80 GB 显存中的 1.47 GiB。",
            "其中 83% 是在思考时写下的。",
        ]
    );
    let text = zh::CONCEPT.text();
    let course = sections(&scenario, &text, &zh::MESSAGES);
    let first: Vec<_> = course
        .iter()
        .map(|section| section.title.as_str())
        .take(5)
        .collect();
    assert_eq!(
        first,
        [
            "缓存里存的是什么",
            "预填充一次完成，解码逐个进行",
            "笔记本",
            "4,812 从哪里来",
            "在 GPU 上"
        ]
    );
    let paragraphs: Vec<&String> = course
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Paragraph(text) => Some(text),
            _ => None,
        })
        .collect();
    for text in &paragraphs {
        assert!(
            !text.contains(['{', '}', '|']) && !has_latin_words(text),
            "{text}"
        );
    }
    assert!(
        paragraphs
            .iter()
            .any(|text| text.contains("到结尾用了 301 页，最后一页空着 4 行")),
        "{paragraphs:?}"
    );
}

#[test]
fn answers_in_chinese() {
    let text = zh::PREDICT.text();
    let words = Words::new(&text, &zh::MESSAGES);
    let situation = Situation::new(&Scenario::default());
    let style = words.answer_style();
    for (question, typed) in [
        (Question::Tokens, "4812 个 token"),
        (Question::Tokens, "4812个"),
        (Question::Tokens, "４８１２ 词元"),
        (Question::Tokens, "0.4812 万"),
        (Question::Tokens, "4.812千个token"),
        (Question::Tokens, "300.75 块"),
        (Question::PerSeqBytes, "１．４７ ＧｉＢ"),
        (Question::PerSeqBytes, "15.77 亿字节"),
        (Question::PerSeqBytes, "1,576,796,160 字节"),
        (Question::MaxConcurrency, "89 个请求"),
        (Question::MaxConcurrency, "89 路"),
        (Question::MaxConcurrency, "89个"),
        (Question::MaxThinking, "13.026万"),
        (Question::Fits, "能"),
        (Question::Fits, "放得下。"),
    ] {
        let unit = (question.dimension() == Dimension::Bytes).then_some(Unit::GIB);
        let answer = parse_answer(typed, question.dimension(), unit, &style);
        let answer = answer.unwrap_or_else(|error| panic!("{typed}: {error:?}"));
        let verdict = judge(&situation, question, &answer);
        assert!(
            matches!(verdict, Verdict::Right { .. }),
            "{typed}: {verdict:?}"
        );
    }
    let no = parse_answer("放不下", Dimension::YesNo, None, &style);
    assert_eq!(no.map(|answer| answer.first().value), Ok(0.0));
}

#[test]
fn verdicts_in_chinese() {
    let text = zh::PREDICT.text();
    let words = Words::new(&text, &zh::MESSAGES);
    let situation = Situation::new(&Scenario::default());
    let said = |question: Question, typed: &str| {
        let unit = Some(Unit::GIB).filter(|_| question.dimension() == Dimension::Bytes);
        let answer = parse_answer(typed, question.dimension(), unit, &words.answer_style());
        let answer = answer.unwrap_or_else(|error| panic!("{typed}: {error:?}"));
        let verdict = judge(&situation, question, &answer);
        words.verdict(&situation, question, typed, &verdict).text
    };
    assert_eq!(said(Question::Tokens, "4812"), "正确：4,812 个 token。");
    assert_eq!(
        said(Question::Tokens, "812"),
        "看得见的是 812 个 token。看不见不等于不存在：4,000 个思考 token 就是普通的 token，每一个都在每一层存下一个键和一个值。"
    );
    assert_eq!(
        said(Question::PerSeqBytes, "12.614 GB"),
        "有好几种算法会得到 12.614 GB。再问一题就知道是哪一种。"
    );
    // Every slip has words that can be filled.
    for slip in SLIPS {
        for question in slip.questions {
            let verdict = Verdict::Slip(slip.id);
            let said = words.verdict(&situation, *question, "7 GB", &verdict).text;
            assert!(
                !said.contains(['{', '}', '|']) && !has_latin_words(&said),
                "{said}"
            );
        }
    }
}

#[test]
fn languages_go_through_their_files() {
    let files: BTreeMap<String, String> = exports().into_iter().collect();
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "en-concept.json",
            "en-predict.json",
            "zh-concept.json",
            "zh-page.txt",
            "zh-panels.txt",
            "zh-predict.json",
        ]
    );
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&files[name]).expect("it is JSON")
    };
    let all: &str = Box::leak(files["zh-panels.txt"].clone().into_boxed_str());
    assert_eq!(Messages::from_lines(all).as_ref(), Some(&zh::MESSAGES));
    // The page's own module reads as many lines as it has words.
    let english = ENGLISH.to_lines(true);
    assert_eq!(
        files["zh-page.txt"].lines().count(),
        english.lines().count()
    );
    let first_view: Vec<&str> = files["zh-page.txt"].lines().collect();
    assert!(
        first_view
            .iter()
            .all(|line| all.lines().any(|other| other == *line)),
        "the first view's words are among all"
    );
    assert_eq!(
        PredictText::from_json(&json("zh-predict.json")),
        Ok(zh::PREDICT.text())
    );
    let langs: Vec<_> = LANGUAGES.iter().map(|(lang, _)| *lang).collect();
    assert_eq!(langs, ["en", "zh"]);
    assert!(zh::MESSAGES.lang.starts_with("zh"), "{}", zh::MESSAGES.lang);
}

#[test]
fn languages_that_nobody_speaks() {
    let english = english();
    for pseudo in Pseudo::ALL {
        let language = sentences(&pseudo.messages(), &pseudo.predict(), &pseudo.concept());
        let mut n_longer = 0;
        for (name, text) in &language {
            let original = &english[name];
            let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
            n_longer += usize::from(letters(original) < letters(text));
            if pseudo == Pseudo::RightToLeft
                && !name.starts_with("predict.words_")
                && name != ".lang"
            {
                let has_latin = with_sevens(text).chars().any(|c| c.is_ascii_alphabetic());
                assert!(!has_latin, "{name}: {text}");
            }
        }
        if pseudo == Pseudo::Long {
            assert!(
                language.len() * 9 / 10 < n_longer,
                "{n_longer} of {}",
                language.len()
            );
        }
        // It comes in the place of a real language.
        let names = |files: Vec<(String, String)>| -> Vec<String> {
            files.into_iter().map(|(name, _)| name).collect()
        };
        let of_zh: Vec<_> = names(exports())
            .into_iter()
            .filter(|name| name.starts_with("zh-"))
            .collect();
        assert_eq!(names(pseudo.exports("zh")), of_zh);
    }
    let long = Pseudo::Long.messages();
    assert_eq!(long.page.reset, "Réšétøøø");
    assert_eq!(long.units.tokens, "{n} {n?tökéñøøø|tökéñšøøø}");
    assert_eq!(long.units.decimal_separator, ".");
    let mirrored = Pseudo::RightToLeft.messages();
    assert_eq!(mirrored.charts.tokens_segment, "{n} {phase}");
    assert_eq!(
        mirrored.page.share_button,
        "עהאקו".replace("עהאקו", "\u{5e2}\u{5d7}\u{5d0}\u{5e1}\u{5d4}")
    );
    let directions = ["en", "zh-Hans", "en-XA", "ar-XB", "he", ""].map(direction);
    assert_eq!(directions, ["ltr", "ltr", "ltr", "rtl", "rtl", "ltr"]);
}

/// What core says in English of its sources, the page says in every language: the English words are core's own.
#[test]
fn sources_are_among_the_words() {
    for constant in SpeedConstants::TABLE {
        let source = |messages| setting::constant_source(constant, messages);
        assert_eq!(source(&ENGLISH), constant.source);
        let chinese = source(&zh::MESSAGES);
        assert!(chinese.chars().any(is_han), "{}: {chinese}", constant.name);
    }
    let in_templates = templates::ALL.iter().flat_map(|template| {
        // What is one name, such as a parameter, is the same in every language.
        let opt_in = template.opt_in.filter(|text| text.contains(' '));
        [Some(template.source), opt_in].into_iter().flatten()
    });
    let api = price::all().api.iter().map(|price| price.source);
    let rent = price::all().rent.iter().map(|price| price.source);
    for source in in_templates.chain(api).chain(rent) {
        let chinese = sources::said(source, &zh::MESSAGES);
        assert!(chinese.chars().any(is_han), "{source}: {chinese}");
    }
    for kind in EngineKind::ALL {
        let source = engines::defaults(*kind).source;
        let assumption = Assumption::OverheadsAssumed {
            activation_bytes: Bytes::from_gib_hundredths(480),
            overhead_bytes: Bytes::from_gib_hundredths(60),
            source,
        };
        let english = notes::assumption(&assumption, &ENGLISH);
        assert!(english.ends_with(&format!("from: {source}")), "{english}");
        let chinese = notes::assumption(&assumption, &zh::MESSAGES);
        assert!(!has_latin_words(&chinese), "{chinese}");
    }
}
